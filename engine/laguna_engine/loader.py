"""Opens a model by its options: weights, context with taps, drafters; and collects warnings.

Runs on the engine thread. A part of speculation that cannot be set up is left out with a warning, because the answer is
the same without it. Only a drafter that does not belong to the model is an error, because the user named it.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from laguna_engine.checkpoints import Checkpoints, DrafterSnapshot
from laguna_engine.config import EngineInfo, EngineOptions, Speculation
from laguna_engine.draft import constrained, dflash, suffix
from laguna_engine.draft.base import MAX_DRAFT, Drafter, DrafterEntry, DrafterPlan, DraftTarget
from laguna_engine.errors import ContextError, EngineError, GraphError, ModelFileError, OutOfMemory
from laguna_engine.events import DrafterFailed, LoadProgress, Source
from laguna_engine.fit.memory import rollback, window_size
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.ggml.device import Device
from laguna_engine.gguf.header import Header, header_warnings, safe_context
from laguna_engine.llama.context import Context, ContextOptions
from laguna_engine.llama.model import Model
from laguna_engine.llama.taps import CallbackTaps, Taps, TargetShape
from laguna_engine.llama.taps_check import gives_numbers, hook_is_right
from laguna_engine.native.control_groups import physical_cores
from laguna_engine.native.cpu_determinism import fixed_rows, use_fixed_kernels
from laguna_engine.native.library import device_descriptions, recent_log
from laguna_engine.sequence import TokenSequence
from laguna_engine.speculate.draft_policy import DraftPolicy
from laguna_engine.speculate.speculator import NullSpeculator, Speculator

DRAFTERS: list[DrafterEntry] = [suffix.TRANSCRIPT_ENTRY, suffix.FILES_ENTRY, dflash.ENTRY, constrained.ENTRY]
"""Every drafter there is. Adding one takes its module and an entry here."""

STRICT_ON_GPU = (
    "strict speculation can promise the plain answer byte for byte only on the CPU: a GPU's kernels round by how many "
    "tokens they compute at once, so an answer can differ from the plain one where two tokens are equally likely up to "
    "rounding; for byte for byte start again with --gpu-layers 0"
)


CANNOT_ROLL_BACK = (
    "Drafts are off, in fast and strict mode too: the recurrent memory of this model ({}) cannot go back after a "
    "rejected draft in this llama.cpp. Only speed is lost."
)


class Loader:
    """Opens one target. `give_up` may be called from any thread."""

    def __init__(self, options: EngineOptions, progress: Callable[[LoadProgress], None] | None) -> None:
        """Prepare the opening; `progress` is called on the engine thread, and its exceptions stop the loading."""
        self._options = options
        self._progress = progress
        self._wanted = True
        self._model: Model | None = None
        self._context: Context | None = None
        self._assembly: SpeculatorFactory | None = None

    def give_up(self) -> None:
        """Make `run` stop loading weights soon."""
        self._wanted = False

    def run(self) -> "LoadedModel":
        """Open everything, or raise an EngineError that says why not; then `undo`."""
        strict = self._options.speculation is Speculation.STRICT
        if strict and not use_fixed_kernels():
            raise ContextError(
                "strict mode has to be chosen before anything is computed; start again with --speculation strict"
            )
        model = self._model = Model.open(
            self._options.model,
            gpu_layers=self._options.gpu_layers,
            check_tensors=self._options.check_tensors,
            extra_bufts=self._options.repack and not strict,
            tensors_in_ram=self._options.tensors_in_ram,
            split=self._options.split,
            progress=lambda fraction: self._report("weights", fraction),
        )
        capacity, warnings = usable_context(model.header, self._options.n_ctx)
        warnings = [*model.warnings, *warnings]
        longest = _longest_rollback(model)
        no_drafts = CANNOT_ROLL_BACK.format(model.header.architecture) if model.recurrent and not longest else ""
        if no_drafts and self._options.speculation is not Speculation.OFF:
            warnings.append(no_drafts)
            self._options = replace(self._options, speculation=Speculation.OFF)
            strict = False
        assembly = self._assembly = SpeculatorFactory(model, self._options)
        assembly.check()
        self._report("context", 0.0)
        if strict and not _on_cpu(self._options):
            warnings.append(STRICT_ON_GPU)
        context = self._context = assembly.context(context_options(self._options, capacity, longest))
        if not gives_numbers(context, model.vocab.size):
            raise ModelFileError(f"{self._options.model}: its weights are not finite numbers; download it again")
        checkpoints = _checkpoints(model, self._options, warnings)
        sequence = TokenSequence(model, context, capacity, paired=strict, checkpoints=checkpoints)
        speculator = assembly.speculator(sequence)
        # Asked for now because the answer takes a walk through the whole vocabulary.
        if not model.vocab.eog:
            warnings.append("the model has no token that ends an answer; every answer continues until you stop it")
        self._report("context", 1.0)
        info = _info(model, self._options, sequence.capacity, assembly.described, warnings + assembly.warnings)
        info = replace(info, no_drafts=no_drafts)
        return LoadedModel(sequence, speculator, info, assembly, self.undo)

    def undo(self) -> None:
        """Free what was opened; the drafter first, because it may use the target's weights."""
        for part in (self._assembly, self._context, self._model):
            if part is not None:
                part.close()

    def _report(self, stage: str, fraction: float) -> bool:
        """Report progress; returns whether to continue."""
        if self._progress is not None:
            self._progress(LoadProgress(stage, fraction))
        return self._wanted


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """An open target.

    Attributes:
        sequence: its committed tokens.
        speculator: its drafters.
        info: what to say about it.
        factory: opened its drafters, and may free and open them again.
        close: frees it all.
    """

    sequence: TokenSequence
    speculator: NullSpeculator
    info: EngineInfo
    factory: "SpeculatorFactory"
    close: Callable[[], None]


def usable_context(header: Header, requested: int) -> tuple[int, list[str]]:
    """Return how many of the `requested` tokens (0: all) the model can use, and what to warn the user about."""
    limit, warnings = safe_context(header), header_warnings(header)
    if requested > limit:
        warnings.append(
            f"a context of {requested} tokens was requested, but this model can use {limit}; it is set to {limit}"
        )
    return min(requested or limit, limit), warnings


def _keeps_everything(options: EngineOptions) -> bool:
    """Return whether sliding-window layers keep all positions, so that any cut is possible."""
    return options.swa_full or options.speculation is Speculation.STRICT


def _checkpoints(model: Model, options: EngineOptions, warnings: list[str]) -> Checkpoints | None:
    """Return where to put checkpoints of the sliding window or recurrent state; None where a cut loses nothing."""
    if not model.recurrent and (not model.n_swa or _keeps_everything(options)):
        return None
    if not options.checkpoints or not options.checkpoint_bytes:
        return None
    size = window_size(ModelShape.of(model.header), options.kv_type)
    if size > options.checkpoint_bytes:
        warnings.append(
            f"a checkpoint of this model takes {size / 1e6:.0f} MB of RAM and {options.checkpoint_bytes / 1e6:.0f} MB "
            "are allowed, so changing an earlier message reads everything again; raise the limit"
        )
        return None
    return Checkpoints(options.checkpoints, options.checkpoint_bytes)


def _on_cpu(options: EngineOptions) -> bool:
    return options.gpu_layers == 0 or not Device.gpus()


def _longest_rollback(model: Model) -> int:
    """Return the tokens of a draft that the model's recurrent state can go back by; 0 if there is none or it cannot."""
    return rollback(ModelShape.of(model.header)) if model.recurrent else 0


def context_options(options: EngineOptions, capacity: int, longest: int = 0) -> ContextOptions:
    """Return the options for a context of `capacity` tokens, whose recurrent state can go back by `longest` tokens."""
    fixed = _on_cpu(options) and options.speculation is Speculation.STRICT
    widest = fixed_rows(device.kind for device in Device.all()) if fixed else options.n_ubatch
    longest = 0 if options.speculation is Speculation.OFF else longest
    # llama.cpp aborts unless a micro-batch is larger than a draft and the token before it.
    least = longest + 2 if longest else 0
    return ContextOptions(
        # llama.cpp makes batches no larger than the context.
        n_ctx=max(capacity, least),
        n_batch=max(options.n_batch, least),
        n_ubatch=max(min(options.n_ubatch, widest), least),
        type_k=options.kv_type,
        type_v=options.kv_type,
        swa_full=_keeps_everything(options),
        threads=options.threads,
        # A GPU that has no layers would still be given the large products, which it rounds in its own way.
        offload_products=not fixed,
        rollback=longest,
    )


def _info(model: Model, options: EngineOptions, capacity: int, drafter: str, warnings: list[str]) -> EngineInfo:
    return EngineInfo(
        name=_text(model, "general.name") or options.model.stem,
        architecture=model.header.architecture,
        description=model.description,
        n_params=model.n_params,
        size_bytes=model.size_bytes,
        n_ctx=capacity,
        n_ctx_train=model.n_ctx_train,
        devices=device_descriptions(),
        kv_type=options.kv_type,
        chat_template=_text(model, "tokenizer.chat_template"),
        speculation=options.speculation,
        drafter=drafter,
        warnings=tuple(warnings),
    )


def _text(model: Model, key: str) -> str:
    value = model.header.metadata.get(key)
    return value if isinstance(value, str) else ""


@dataclass(slots=True)
class SpeculatorFactory:
    """Opens the drafters of one engine, and what they need. `warnings` are sentences for the user."""

    model: Model
    options: EngineOptions
    warnings: list[str] = field(default_factory=list)
    _plans: dict[Source, DrafterPlan] = field(default_factory=dict)
    _drafters: list[Drafter] = field(default_factory=list)
    _resting: dict[Source, DrafterSnapshot | None] = field(default_factory=dict)
    _opened: tuple[TokenSequence, Speculator] | None = None
    _rested_at: Sequence[int] = ()

    def check(self) -> None:
        """Find out which drafters apply; ModelFileError if one was named that does not belong to the model."""
        if self.options.speculation is Speculation.OFF:
            return
        for entry in DRAFTERS:
            plan = entry.plan(self.options, self.model.header)
            if plan is None:
                continue
            if plan.layers and self._tapping is not None:
                self.warnings.append(f"{entry.source.title} is not used: only one drafter can read the target's layers")
            else:
                self._plans[entry.source] = plan

    def context(self, options: ContextOptions) -> Context:
        """Create a context with taps if possible."""
        if self.options.speculation is Speculation.OFF:
            return Context(self.model, options)
        taps = self.taps(options)
        try:
            context = Context(self.model, options, taps)
        except (ContextError, GraphError) as error:
            taps.close()
            if isinstance(error, OutOfMemory):
                raise
            return self._without_hook(options, recent_log())
        if hook_is_right(self.model, options, context, taps):
            return context
        context.close()
        return self._without_hook(options, "its taps are wrong")

    def taps(self, options: ContextOptions) -> Taps:
        """Create taps for a context of these options; call `check` first."""
        return Taps(*self._tap_arguments(options))

    def speculator(self, sequence: TokenSequence) -> NullSpeculator:
        """Open the drafters for `sequence`, whose context was created here."""
        if self.options.speculation is Speculation.OFF:
            return NullSpeculator(sequence)
        policy = DraftPolicy()
        if self.options.economy is not None:
            policy.load(self.options.economy)
        taps = sequence.context.taps
        if taps is not None:
            for source, plan in self._plans.items():
                self._open(source, plan, sequence, taps)
        made = Speculator(sequence, self._drafters, policy, [name for name, _ in self.options.adapters])
        self._opened = sequence, made
        return made

    @property
    def nbytes(self) -> int:
        """Bytes that the drafters take on the device."""
        return 0 if self._opened is None else sum(drafter.nbytes for drafter in self._opened[1].drafters)

    def rest(self) -> int:
        """Free what the drafters have on the device, until `resume`; returns how many bytes."""
        if self._opened is None or self._resting:
            return 0
        sequence, speculator = self._opened
        self._rested_at = list(sequence.tokens)
        freed = 0
        for drafter in [each for each in speculator.drafters if each.nbytes]:
            freed += drafter.nbytes
            self._resting[drafter.source] = speculator.take_out(drafter.source)
            self._drafters.remove(drafter)
            drafter.close()
        return freed

    def resume(self) -> None:
        """Open the drafters again that rest, as they were; one that cannot be opened is reported as failed."""
        if self._opened is None:
            return
        sequence, speculator = self._opened
        taps = sequence.context.taps
        same = self._rested_at == list(sequence.tokens)
        resting, self._resting = self._resting, {}
        for source, snapshot in resting.items():
            assert taps is not None, "it had drafters"
            reported = len(self.warnings)
            drafter = None
            with suppress(EngineError):
                drafter = self._open(source, self._plans[source], sequence, taps)
            if drafter is None:
                problem = " ".join(self.warnings[reported:]) or "it could not be opened again"
                speculator.report(DrafterFailed(source, problem))
            else:
                speculator.put_back(drafter, snapshot if same else None)

    @property
    def described(self) -> str:
        """A line on what was opened, empty if there is nothing to say."""
        return next((drafter.description for drafter in self._drafters if drafter.description), "")

    def close(self) -> None:
        """Free the drafters; before the target, whose output matrix they may share."""
        while self._drafters:
            self._drafters.pop().close()

    def _open(
        self, source: Source, plan: DrafterPlan, sequence: TokenSequence, taps: Taps | CallbackTaps
    ) -> Drafter | None:
        features = taps.features if plan.layers else None
        if plan.layers and features is None:
            return None
        opened = DraftTarget(
            header=self.model.header,
            sequence=sequence,
            backend=taps.backend,
            head=taps.head if isinstance(taps, Taps) else None,
            features=None if features is None else features.tensor,
            outputs=taps.outputs if self.model.n_layer - 1 in plan.layers else None,
            warn=self.warnings.append,
        )
        try:
            drafter = plan.open(opened)
        except EngineError:
            raise
        except Exception as error:
            self.warnings.append(f"{source.title} is not used: {type(error).__name__} - {error}")
            return None
        if drafter is not None:
            self._drafters.append(drafter)
        return drafter

    @property
    def _tapping(self) -> DrafterPlan | None:
        """The drafter that reads outputs of the target's layers."""
        return next((plan for plan in self._plans.values() if plan.layers), None)

    def _tap_arguments(self, options: ContextOptions) -> tuple[tuple[int, ...], TargetShape, int, int, int]:
        plan = self._tapping
        layers, spare = (plan.layers, plan.spare_rows) if plan is not None else ((), 0)
        last_tapped = plan is not None and self.model.n_layer - 1 in layers
        outputs = plan.last_layer_outputs if plan is not None and last_tapped else MAX_DRAFT + 1
        ubatch = min(options.n_ubatch, options.n_batch)
        shape = TargetShape(self.model.n_embd, self.model.n_layer)
        return layers, shape, ubatch + spare, min(outputs, ubatch), options.threads or physical_cores()

    def _without_hook(self, options: ContextOptions, why: str) -> Context:
        """Create a slower context: with a callback where a drafter needs features, with whole logits in any case."""
        self.warnings.append(
            f"drafting is slower than it should be: this llama.cpp does not support the graph hook ({why})"
        )
        return Context(self.model, options, CallbackTaps(*self._tap_arguments(options)))
