"""A scorer's weights and graphs on one device: windows in, a few floats out. One thread only."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from laguna_engine.compress import scorer_file
from laguna_engine.compress.scorer_body import Body
from laguna_engine.compress.scorer_file import EMBEDDINGS, HEAD, LAST_NORM, ScorerFile
from laguna_engine.compress.scorer_head import Head
from laguna_engine.compress.scorer_windows import Window, capacity, sizes
from laguna_engine.errors import ModelFileError, RequestError
from laguna_engine.ggml.device import Backend, Device
from laguna_engine.ggml.rows import HostRows
from laguna_engine.ggml.store import Store
from laguna_engine.ggml.types import Type
from laguna_engine.ggml.weights import Weights
from laguna_engine.gguf import header
from laguna_engine.llama.model import Model
from laguna_engine.llama.options import physical_cores
from laguna_engine.native.stop import StopFlag

Looks = NDArray[np.float32]
"""[layers, heads, blocks]."""


class ScorerModel:
    """An open scorer. vocab: of its file. newline: its token for one. layers: how many are run. window: the most rows
    at once.

    stop: set from any thread, it ends a computation on the CPU at once; `run` raises `Stopped` then.
    """

    def __init__(self, vocabulary: Model, file: ScorerFile, layers: int, window: int, backend: Backend) -> None:
        """`vocabulary` and `backend` belong to it from now on, whatever happens."""
        self.vocab, self.file, self.layers, self.window = vocabulary.vocab, file, layers, window
        self._vocabulary, self._backend = vocabulary, backend
        self.stop = StopFlag()
        self._weights: Weights | None = None
        self._hidden: Store | None = None
        self._head: Head | None = None
        self._bodies: dict[tuple[int, int], Body] = {}
        try:
            self.newline = self._newline()
            backend.heed(self.stop)
            self._load()
            # What the device cannot do shall show now, not when somebody waits for scores.
            self._body(sizes(window)[0], 0)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, path: Path, device: Device | None, threads: int, window: int, layers: int) -> "ScorerModel":
        """Check the file and load it. device: None is the CPU. threads: 0 for the physical cores. layers: 0 for all.

        ModelFileError for a file that is no scorer, RequestError for impossible sizes, GraphError if the device cannot.
        """
        file = scorer_file.describe(header.check(path))
        vocabulary = Model.open(path, vocab_only=True)
        try:
            if not 0 <= layers <= file.n_layer:
                raise RequestError(f"{layers} layers cannot be run of {file.n_layer}; choose 1 to {file.n_layer}")
            backend = Backend(device or Device.cpu(), threads or physical_cores())
        except BaseException:
            vocabulary.close()
            raise
        return cls(vocabulary, file, layers or file.n_layer, min(window, file.n_ctx), backend)

    @property
    def whole(self) -> bool:
        """Whether all layers are run, so that there are log-probabilities."""
        return self.layers == self.file.n_layer

    @property
    def nbytes(self) -> int:
        """Bytes of weights, hidden states and graphs on the device. Any thread may ask."""
        # One step for the interpreter: a graph may be added meanwhile.
        held = [*tuple(self._bodies.values()), self._weights, self._hidden, self._head]
        return sum(part.nbytes for part in held if part is not None)

    def run(self, window: Window) -> tuple[Looks, NDArray[np.float32] | None]:
        """How the query looks at each text, and log p of its tokens after each, [blocks, query]."""
        looks = self._body(window.rows, window.asked.size if self.whole else 0).run(window)
        return looks, None if self._head is None else self._head.run(window.targets)

    def close(self) -> None:
        """Free everything; harmless when repeated."""
        for body in self._bodies.values():
            body.close()
        for part in (self._head, self._hidden, self._weights, self._backend, self._vocabulary):
            if part is not None:
                part.close()

    def _newline(self) -> int:
        tokens = self.vocab.tokenize("\n", special=False)
        if not tokens:
            raise ModelFileError(f"{self.file.file.path}: it has no token for a newline; choose another scorer")
        return tokens[-1]

    def _load(self) -> None:
        file, own = self.file, [EMBEDDINGS, HEAD, LAST_NORM]
        self._embedding = HostRows(file.file, EMBEDDINGS)
        names = [info.name for info in file.file.tensors if info.name not in own and self._runs(info.name)]
        if self.whole:
            names += [LAST_NORM, file.head]
        self._weights = Weights(file.file, names, self._backend)
        if self.whole:
            self._hidden = Store(self._backend, {"hidden": (Type.F32, (file.n_embd, self.window))})
            self._head = Head(self._weights[file.head], self._hidden["hidden"], self._backend, file.file.path)

    def _runs(self, name: str) -> bool:
        """Whether a tensor belongs to one of the layers that are run."""
        return int(name.split(".")[1]) < self.layers

    def _body(self, rows: int, asked: int) -> Body:
        key = rows, capacity(rows, asked)
        found = self._bodies.get(key)
        if found is None:
            assert self._weights is not None, "they are loaded first"
            hidden = None if self._hidden is None else self._hidden["hidden"]
            found = self._bodies[key] = Body(
                *key, self.layers, self.file, self._weights, self._embedding, hidden, self._backend
            )
        return found
