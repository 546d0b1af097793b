"""Opening a target: weights, then context, with progress, a way to give up, and warnings. Engine thread only."""

from collections.abc import Callable

from laguna_engine.events import LoadProgress
from laguna_engine.generation.target import Target
from laguna_engine.gguf.context_length import header_warnings, safe_context
from laguna_engine.gguf.header import Header
from laguna_engine.llama.context import Context, ContextOptions
from laguna_engine.llama.model import Model
from laguna_engine.native.library import device_descriptions
from laguna_engine.options import EngineInfo, EngineOptions


class Opening:
    """One attempt to open a target. `give_up` may be called from any thread."""

    def __init__(self, options: EngineOptions, progress: Callable[[LoadProgress], None] | None) -> None:
        """`progress` is called on the engine thread; what it raises ends the attempt."""
        self._options = options
        self._progress = progress
        self._wanted = True
        self._model: Model | None = None
        self._context: Context | None = None

    def give_up(self) -> None:
        """Make `run` stop loading weights soon."""
        self._wanted = False

    def run(self) -> tuple[Target, EngineInfo]:
        """Open everything, or raise an EngineError that says why not; then `undo`."""
        model = self._model = Model.open(
            self._options.model,
            gpu_layers=self._options.gpu_layers,
            check_tensors=self._options.check_tensors,
            progress=lambda fraction: self._tell("weights", fraction),
        )
        capacity, warnings = _usable_context(model.header, self._options.n_ctx)
        self._tell("context", 0.0)
        context = self._context = Context(model, _context_options(self._options, capacity))
        # Asked for now because the answer takes a walk through the whole vocabulary.
        if not model.vocab.eog:
            warnings.append("the model names no token that ends an answer; every answer goes on until it is stopped")
        self._tell("context", 1.0)
        return Target(model, context, capacity), _info(model, self._options, capacity, warnings)

    def undo(self) -> None:
        """Free what was opened."""
        if self._context is not None:
            self._context.close()
        if self._model is not None:
            self._model.close()

    def _tell(self, stage: str, fraction: float) -> bool:
        """Report progress; whether to go on."""
        if self._progress is not None:
            self._progress(LoadProgress(stage, fraction))
        return self._wanted


def _usable_context(header: Header, asked: int) -> tuple[int, list[str]]:
    """How many of the tokens `asked` for (0: all) the model can use, and what the user should know about that."""
    limit, warnings = safe_context(header), header_warnings(header)
    if asked > limit:
        warnings.append(f"a context of {asked} tokens was asked for; this model can use {limit}, so it got that many")
    return min(asked or limit, limit), warnings


def _context_options(options: EngineOptions, capacity: int) -> ContextOptions:
    return ContextOptions(
        n_ctx=capacity,
        n_batch=options.n_batch,
        n_ubatch=options.n_ubatch,
        type_k=options.kv_type,
        type_v=options.kv_type,
        swa_full=options.swa_full,
        threads=options.threads,
    )


def _info(model: Model, options: EngineOptions, capacity: int, warnings: list[str]) -> EngineInfo:
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
        drafter="",
        warnings=tuple(warnings),
    )


def _text(model: Model, key: str) -> str:
    value = model.header.metadata.get(key)
    return value if isinstance(value, str) else ""
