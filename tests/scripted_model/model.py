"""A model file that is real, and an engine that leads it through a script.

The file is a Laguna of two layers (full and sliding attention, dense and experts) with random weights. The engine is
the app's own; it is only made to add a bias to the script's next token in every row of logits, inside llama.cpp's
graph, before anything reads them: the argmax, the likeliest tokens, masks, the sampler's chain. So which token comes is
still decided by the sampler, from logits that were computed, and drafts are verified against the rows behind them.
"""

import atexit
import ctypes
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from laguna_engine import loader
from laguna_engine.ggml.operations import Operations
from laguna_engine.ggml.tensor import BorrowedContext, DeviceTensors, Port, Tensor, Type
from laguna_engine.llama.context import Context, ContextOptions, DecodeStatus, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.taps import CallbackTaps, Taps
from laguna_engine.native import tensor_layout
from laguna_engine.native.library import lib
from laguna_engine.native.structs import BufferTypeHandle, GgmlContextHandle, GraphHandle
from laguna_engine.sequence import Reuse, TokenSequence
from laguna_tui.base.events import AgentEvent, ReasoningDelta, TextDelta
from laguna_tui.base.settings import Settings
from laguna_tui.session.engine_slot import EngineSource
from laguna_tui.session.session import Session
from laguna_tui.session.values import SessionOptions
from tests.engine import families, generic, tiny
from tests.engine.chat.real_templates import templates
from tests.scripted_model.script import Lines, Prompter, Script
from tests.scripted_model.speech import FAMILIES, FamilySpeech, LagunaSpeech
from tests.scripted_model.vocabulary import SIZE, add_tokenizer, vocabulary

SHAPE = tiny.Shape(
    n_layer=2, n_embd=32, head=8, full_heads=1, sliding_heads=2, kv_heads=1, n_ff=32, experts=2, experts_used=1,
    expert_ff=16, window=128, n_ctx=65_536, n_vocab=SIZE,
)  # fmt: skip
"""As little to compute as the architecture allows: a prompt of 64 K tokens has to be read in seconds."""

BIAS = 100.0
"""Added to the logit of the script's token. The others' are within 20 of each other and the sampler's noise within 41,
so at temperature 1 nothing but a mask overrules the script."""

_scripts: dict[Path, Script] = {}
"""The script of each model file, by its absolute path. Engines of other files work as ever."""

_families: dict[Path, str] = {}
"""The family of each that is no Laguna."""


@cache
def _file_bytes(shape: tiny.Shape) -> bytes:
    file = tiny.GgufFile()
    tiny.describe(file, shape)
    file.set("general.name", "scripted")
    add_tokenizer(file)
    tiny.add_tensors(file, shape, np.random.default_rng(1))
    return file.to_bytes()


@cache
def _family_bytes(name: str) -> bytes:
    family = FAMILIES[name]
    known = family.architecture in families.NAMES
    file = families.model(family.architecture) if known else generic.model(family.architecture)
    file.set("general.name", name)
    file.set(f"{family.architecture}.context_length", SHAPE.n_ctx)
    file.set(f"{family.architecture}.vocab_size", SIZE)
    tokens = vocabulary(family.control, family.defined)
    tiny.put_tokenizer(file, *tokens)
    unwanted = ("eot_token_id", "unknown_token_id", "padding_token_id", "scores")
    file.remove(*{f"tokenizer.ggml.{each}" for each in unwanted} & file.metadata.keys())
    file.set("tokenizer.ggml.bos_token_id", 0).set("tokenizer.ggml.eos_token_id", 1)
    file.set("tokenizer.ggml.add_bos_token", family.adds_begin)
    file.set("tokenizer.chat_template", templates()[family.template])
    random = np.random.default_rng(1)
    for tensor in ("token_embd.weight", "output.weight"):
        if tensor in file.tensors:
            width = file.tensors[tensor].shape[1]
            file.tensors[tensor] = (random.standard_normal((SIZE, width)) / np.sqrt(width)).astype(np.float16)
    return file.to_bytes()


def scripted_file(path: Path, script: Script | Lines, shape: tiny.Shape = SHAPE, family: str = "") -> Path:
    """Write a model file that follows the script in every engine of this process. family: of `FAMILIES`, or Laguna."""
    path.write_bytes(_family_bytes(family) if family else _file_bytes(shape))
    _families[path.absolute()] = family
    _scripts[path.absolute()] = script if isinstance(script, Script) else Script(script)
    return path


def said(events: Iterable[AgentEvent]) -> str:
    """The text of an answer."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def thought(events: Iterable[AgentEvent]) -> str:
    """The reasoning before it."""
    return "".join(event.text for event in events if isinstance(event, ReasoningDelta))


def scripted_session(
    folder: Path,
    script: Script | Lines,
    *,
    settings: Settings | None = None,
    state: Path | None = None,
    rules: Path | None = None,
    allow: Sequence[str] = (),
    deny: Sequence[str] = (),
    wait_s: float = 2.0,
    shape: tiny.Shape = SHAPE,
    source: EngineSource | None = None,
    family: str = "",
    **changes: Any,
) -> Session:
    """A session of the app about `folder` with a model that follows the script; not open yet.

    Args:
        folder: the project that is asked about.
        script: what the model says.
        settings: the user's settings, but for the model; those of the app by default.
        state: the user's state folder; None keeps nothing.
        rules: the user's file of rules; None for none.
        allow: rules of the session.
        deny: likewise.
        wait_s: seconds that a message waits for the folder's index.
        shape: dimensions of the model.
        source: an engine that sessions use one after another, each with its script; None for one of its own.
        family: whose template and calls the model has, of `FAMILIES`; Laguna's by default.
        changes: single settings, such as `context=8192`, `thinking=False`, `temperature=0.0`, `draft_length=4`. Tool
            calls are not constrained by default, as a script may say wrong ones.
    """
    if source is None:
        home = Path(tempfile.mkdtemp(prefix="scripted-model-"))
        path = scripted_file(home / "scripted.gguf", script, shape, family)
    else:
        path = _shared_file(shape)
        _scripts[path] = script if isinstance(script, Script) else Script(script)
    wanted = (settings or Settings()).merged({"scorer": "none", "constrain": "off", **changes, "model": str(path)})
    options = SessionOptions(wait_s=wait_s, rules=rules, allow=allow, deny=deny)
    session = Session(wanted, folder, state, options, source=source)
    if source is None:
        weakref.finalize(session, shutil.rmtree, home, ignore_errors=True)
    return session


@cache
def _shared_file(shape: tiny.Shape) -> Path:
    """A model file for sessions that share an engine, until the process ends."""
    home = Path(tempfile.mkdtemp(prefix="scripted-model-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return scripted_file(home / "scripted.gguf", (), shape)


class BiasedTaps(Taps):
    """Taps that add a bias to one token of each row of logits, if they are of a scripted model."""

    scripted = False
    _bias_store: DeviceTensors | None = None

    def bias(self, tokens: Sequence[int | None], vocabulary: int) -> None:
        """Bias these tokens in the rows of the next decode; None leaves a row alone."""
        rows = np.arange(len(tokens)) * vocabulary + np.array([token or 0 for token in tokens], np.int64)
        for name, values in (
            ("read", rows.astype(np.int32)),
            ("write", rows),
            ("bias", np.array([0.0 if token is None else BIAS for token in tokens], np.float32)),
        ):
            self._bias_ports[name].push_first(values)

    def close(self) -> None:
        super().close()
        if self._bias_store is not None:
            self._bias_store.close()

    def _place(self, buffer_type: BufferTypeHandle | None) -> None:
        super()._place(buffer_type)
        if self._bias_store is not None or not self.scripted:
            return
        kinds = {"read": (Type.I32, np.int32), "write": (Type.I64, np.int64), "bias": (Type.F32, np.float32)}
        store = DeviceTensors(self.backend, {name: (kind, (self.outputs,)) for name, (kind, _) in kinds.items()})
        self._bias_ports = {
            name: Port(store[name], np.zeros(self.outputs, dtype)) for name, (_, dtype) in kinds.items()
        }
        self._bias_store = store

    def _insert(self, context: GgmlContextHandle, graph: GraphHandle) -> bool:
        found = lib.ggml_graph_get_tensor(graph, b"result_output")
        if self.scripted and found and tensor_layout.shape_of(found.value or 0)[1]:
            arena = BorrowedContext(context, _STRUCTS)
            self._add_bias(Operations(arena), Tensor(found, arena), graph)
            arena.give_back()
        return super()._insert(context, graph)

    def _add_bias(self, ops: Operations, logits: Tensor, graph: GraphHandle) -> None:
        """logits[write] = logits[read] + bias, in place."""
        assert self._bias_store is not None
        vocabulary, rows = logits.shape[:2]
        flat = ops.reshape(logits, 1, vocabulary * rows)
        read, write, bias = (ops.view(self._bias_store[name], (rows,)) for name in ("read", "write", "bias"))
        raised = ops.add(ops.get_rows(flat, read), ops.reshape(bias, 1, rows))
        lib.ggml_build_forward_expand(graph, ops.set_rows(flat, raised, write).handle)


_STRUCTS = 32


class ScriptedContext(Context):
    """A context that tells its taps whether its model is scripted."""

    def __init__(self, model: Model, options: ContextOptions, taps: Taps | CallbackTaps | None = None) -> None:
        if isinstance(taps, BiasedTaps):
            taps.scripted = model.header.path.absolute() in _scripts
        super().__init__(model, options, taps)


class ScriptedSequence(TokenSequence):
    """A sequence whose rows of logits are biased towards the script of its model's file."""

    _prompter: Prompter | None = None

    def rewind(self, prompt: list[int], at_most: int | None = None) -> Reuse:
        script = _scripts.get(self.model.header.path.absolute())
        if script is not None:
            if self._prompter is None or self._prompter.script is not script:
                family = _families[self.model.header.path.absolute()]
                vocab = self.model.vocab
                speech = FamilySpeech(vocab, FAMILIES[family]) if family else LagunaSpeech(vocab)
                self._prompter = Prompter(script, vocab, speech)
            self._prompter.begin(prompt)
        return super().rewind(prompt, at_most)

    def _compute(self, tokens: Sequence[int], outputs: Outputs) -> DecodeStatus:
        if self._prompter is None or outputs is Outputs.NONE:
            return super()._compute(tokens, outputs)
        wanted = self._wanted(list(tokens), outputs, self._prompter)
        taps = self.context.taps
        if isinstance(taps, BiasedTaps):
            self.context.synchronize()
            taps.bias(list(wanted.values()), self.model.vocab.size)
        status = super()._compute(tokens, outputs)
        if status is DecodeStatus.OK and not isinstance(taps, BiasedTaps):
            self._bias_host(wanted)
        return status

    def _wanted(self, tokens: list[int], outputs: Outputs, prompter: Prompter) -> dict[int, int | None]:
        """The script's next token for each row of the batch that has logits."""
        rows = list(range(len(tokens))) if outputs is Outputs.ALL else [len(tokens) - 1]
        if self._paired and len(tokens) == 1:
            return {row: self._following(tokens[:1], prompter) for row in (0, 1)}
        if self._paired and outputs is Outputs.LAST:
            rows = [len(tokens) - 2, len(tokens) - 1]
        return {row: self._following(tokens[: row + 1], prompter) for row in rows}

    def _following(self, tokens: list[int], prompter: Prompter) -> int | None:
        start, position = prompter.start, self.position
        if start is None or position + len(tokens) < prompter.length:
            return None
        said = self._tokens[start:position] + tokens if start <= position else tokens[start - position :]
        following = prompter.following(said)
        prompter.pause(said, self.context._stop.is_set)
        return following

    def _bias_host(self, wanted: dict[int, int | None]) -> None:
        """The same for logits that llama.cpp copied to the host: those of an engine without speculation."""
        self.context.synchronize()
        for row, token in wanted.items():
            if token is not None:
                logits = lib.llama_get_logits_ith(self.context._handle, row)
                ctypes.cast(logits, ctypes.POINTER(ctypes.c_float))[token] += BIAS


loader.Context = ScriptedContext  # type: ignore[misc]
loader.Taps = BiasedTaps  # type: ignore[misc]
loader.TokenSequence = ScriptedSequence  # type: ignore[misc]
