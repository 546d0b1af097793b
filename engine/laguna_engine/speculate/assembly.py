"""From options to everything that drafts for a target: taps, drafters, their feed, and who chooses among them.

What cannot be had is left out with a sentence for the user: the answer is the same without it. Only a drafter that does
not belong to the model is an error, because somebody asked for it by name.
"""

from dataclasses import dataclass, field

from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.dflash_inject import LAST_LAYER_OUTPUTS, SPARE_ROWS
from laguna_engine.draft.drafter import MAX_DRAFT, Drafter
from laguna_engine.draft.suffix import SuffixDrafter
from laguna_engine.draft.suffix_files import FileDrafter
from laguna_engine.errors import ContextError, GraphError, OutOfMemory
from laguna_engine.events import Source
from laguna_engine.ggml.rows import HostRows
from laguna_engine.ggml.tensor import Tensor
from laguna_engine.ggml.weights import Weights
from laguna_engine.gguf import drafter as drafter_files
from laguna_engine.gguf.drafter import DrafterHeader, TargetFacts
from laguna_engine.llama.callback_taps import CallbackTaps
from laguna_engine.llama.context import Context
from laguna_engine.llama.features import TargetShape
from laguna_engine.llama.model import Model
from laguna_engine.llama.options import ContextOptions, physical_cores
from laguna_engine.llama.selfcheck import hook_is_right
from laguna_engine.llama.taps import Taps
from laguna_engine.native.library import recent_log
from laguna_engine.options import EngineOptions, Speculation
from laguna_engine.speculate.arbiter import Arbiter
from laguna_engine.speculate.feed import FeatureFeed
from laguna_engine.speculate.rounds import Drafters, Listener, Speculator
from laguna_engine.target import Target

_NO_NUMBERS = "its weights give no numbers; download it again"

_HEADS = ("output.weight", "token_embd.weight")
"""The target's output matrix; models that have none use their embeddings."""


@dataclass(slots=True)
class Assembly:
    """Puts together what one engine needs. `warnings` are sentences for the user, `described` a line on the drafter."""

    model: Model
    options: EngineOptions
    warnings: list[str] = field(default_factory=list)
    described: str = ""
    _drafter: DrafterHeader | None = None
    _dflash: DFlash | None = None
    _own_head: Weights | None = None

    def check(self) -> None:
        """Read the drafter's file and see that it belongs to the model; ModelFileError if not."""
        if self.options.drafter is not None and self.options.speculation is not Speculation.OFF:
            self._drafter = drafter_files.read(self.options.drafter)
            drafter_files.check_pair(self._drafter, self._facts)

    def context(self, options: ContextOptions) -> Context:
        """A context that can be tapped, if it is to be and can be."""
        if self.options.speculation is Speculation.OFF:
            return Context(self.model, options)
        taps = Taps(*self._tap_arguments(options))
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
        return self._without_hook(options, "its taps are not what they should be")

    def speculator(self, target: Target) -> Speculator | None:
        """Who drafts for `target`, whose context was made here."""
        if self.options.speculation is Speculation.OFF:
            return None
        arbiter = Arbiter()
        if self.options.economy is not None:
            arbiter.load(self.options.economy)
        suffix, files = SuffixDrafter(), FileDrafter()
        drafters: dict[Source, Drafter] = {Source.SUFFIX: suffix, Source.FILE: files}
        listeners: dict[Source, Listener] = {Source.SUFFIX: suffix, Source.FILE: files}
        taps = target.context.taps
        feed = None
        if taps is not None and self._open_dflash(taps, target.capacity) and self._dflash is not None:
            drafters[Source.DFLASH] = self._dflash
            assert taps.features is not None, "a drafter always has taps"
            tapped_last = self.model.n_layer - 1 in taps.layers
            outputs = taps.outputs if tapped_last else None
            feed = FeatureFeed(self._dflash, target.context.synchronize, taps.features.rows, outputs)
        left_out = frozenset(name for name, _ in self.options.adapters if self._dflash is None)
        made = Drafters(drafters, listeners, suffix, files, self._dflash, feed, left_out)
        return Speculator(target, made, arbiter)

    def close(self) -> None:
        """Free the drafter; before the target, whose output matrix it may share."""
        if self._dflash is not None:
            self._dflash.close()
        if self._own_head is not None:
            self._own_head.close()
        self._dflash = self._own_head = None

    @property
    def _facts(self) -> TargetFacts:
        return TargetFacts.of(self.model.header)

    def _tap_arguments(self, options: ContextOptions) -> tuple[tuple[int, ...], TargetShape, int, int, int]:
        layers = self._drafter.taps if self._drafter else ()
        outputs = LAST_LAYER_OUTPUTS if self.model.n_layer - 1 in layers else MAX_DRAFT + 1
        ubatch = min(options.n_ubatch, options.n_batch)
        shape = TargetShape(self.model.n_embd, self.model.n_layer)
        return layers, shape, ubatch + SPARE_ROWS, min(outputs, ubatch), options.threads or physical_cores()

    def _without_hook(self, options: ContextOptions, why: str) -> Context:
        """The slower way: with a callback where a drafter needs features, with whole logits in any case."""
        self.warnings.append(f"drafting costs more than it should: this llama.cpp takes no graph hook ({why})")
        return Context(self.model, options, CallbackTaps(*self._tap_arguments(options)))

    def _open_dflash(self, taps: Taps | CallbackTaps, capacity: int) -> bool:
        path = self.options.drafter
        if self._drafter is None or path is None or taps.features is None:
            return False
        try:
            self._dflash = DFlash.open(
                self._drafter,
                self._facts,
                taps.features.tensor,
                self._head(taps),
                HostRows(self.model.header, "token_embd.weight"),
                taps.backend,
                self.options.adapters,
                context=min(self.options.draft_context, capacity),
                repack=self.options.repack,
            )
        except GraphError as error:
            self.warnings.append(f"the drafter {path.name} is not used: {error}")
            self.close()
            return False
        if not self._dflash.gives_numbers():
            self.warnings.append(f"the drafter {path.name} is not used: {_NO_NUMBERS}")
            self.close()
            return False
        for name, file in self.options.adapters:
            if not self._dflash.gives_numbers(name):
                self.warnings.append(f"the adapter {file.name} is not used: {_NO_NUMBERS}")
                self._dflash.leave_out(name)
        self.described = _described(self._drafter)
        return True

    def _head(self, taps: Taps | CallbackTaps) -> Tensor | None:
        """The target's output matrix where the drafter can use it: its own, or a copy of it."""
        if self._drafter is None or self._drafter.own_head is not None:
            return None
        if isinstance(taps, Taps) and taps.head is not None:
            return taps.head
        names = {info.name for info in self.model.header.tensors}
        name = next(name for name in _HEADS if name in names)
        self._own_head = Weights(self.model.header, [name], taps.backend)
        return self._own_head[name]


def _described(drafter: DrafterHeader) -> str:
    kind = "DSpark" if drafter.has("markov_w1.weight") else "DFlash"
    return f"{kind}, {drafter.n_layer} layers, drafts up to {drafter.longest} tokens"
