"""Hidden-state taps by llama.cpp's eval callback: slower than the graph hook, and the fallback if that fails its check.

llama.cpp calls back for each of some thousand nodes, taking the GIL, and synchronises the device at the tapped ones.
"""

import ctypes

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import ContextError
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.llama.sampler import LOGITS, Readout
from laguna_engine.llama.taps import HiddenStates, TargetShape
from laguna_engine.native import tensor_layout
from laguna_engine.native.library import lib
from laguna_engine.native.structs import EvalCallback, TensorHandle


class CallbackTaps:
    """Provides the same features as `Taps`, copied over the host."""

    def __init__(self, layers: tuple[int, ...], shape: TargetShape, rows: int, outputs: int, threads: int = 1) -> None:
        """Arguments as for `Taps`. The features are in host memory, and the drafter runs on the CPU."""
        self.layers = layers
        self.outputs = outputs
        self.backend = ComputeBackend.cpu(threads)
        self.callback = EvalCallback(self._on_node)
        self._features = HiddenStates(self.backend, len(layers), shape.n_embd, rows) if layers else None
        self._names = {b"l_out-%d" % layer: place for place, layer in enumerate(layers)}
        self._last = layers.index(shape.n_layer - 1) if shape.n_layer - 1 in layers else None
        self._n_embd = shape.n_embd
        self._taken: dict[int, NDArray[np.float32]] = {}
        self._start, self._count, self._outputs = 0, 0, range(0)
        self._error: BaseException | None = None

    @property
    def features(self) -> HiddenStates | None:
        """The feature buffer; None without taps."""
        return self._features

    @property
    def readout(self) -> Readout:
        """Always whole rows."""
        return LOGITS

    def before(self, start: int, count: int, outputs: range) -> None:
        """Set the positions and outputs of the next decode."""
        self._taken.clear()
        self._start, self._count, self._outputs = start, count, outputs

    def after(self) -> None:
        """Upload the features of the decode; raises a stored exception of the callback."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        if self._features is None:
            return
        values = np.zeros((self._count, len(self.layers), self._n_embd), np.float32)
        for place, taken in self._taken.items():
            rows = self._outputs if place == self._last else range(self._count)
            values[rows.start : rows.stop, place] = taken
        self._features.upload(self._start, values.reshape(self._count, -1))

    def close(self) -> None:
        """Free everything; close the context first."""
        if self._features is not None:
            self._features.close()
        self.backend.close()

    def _on_node(self, tensor: int, ask: bool, _: object) -> bool:
        """With `ask`, whether the node is tapped; afterwards True to continue, as False would leave garbage behind."""
        place = self._names.get(ctypes.string_at(tensor + tensor_layout.NAME))
        if ask:
            return place is not None
        try:
            if place is not None:
                self._taken[place] = self._values(tensor)
        except BaseException as error:
            self._error = error
        return True

    def _values(self, tensor: int) -> NDArray[np.float32]:
        width, count, *_ = tensor_layout.shape_of(tensor)
        if width != self._n_embd or tensor_layout.type_of(tensor):
            raise ContextError(f"a hidden state of width {width} cannot be tapped; use this model without a drafter")
        values = np.empty((count, width), np.float32)
        if count:
            lib.ggml_backend_tensor_get(TensorHandle(tensor), ctypes.c_void_p(values.ctypes.data), 0, values.nbytes)
        return values
