"""A tensor of ggml's, seen from Python: what it is, never what is in it.

Its facts are read from the native struct once. Handing one to an operation checks that whoever owns its struct is
still there, because a dead handle crashes the process.
"""

from typing import Protocol

from laguna_engine.errors import GraphError
from laguna_engine.ggml.types import Type
from laguna_engine.native import layout
from laguna_engine.native.structs import BufferHandle, TensorHandle

Shape = tuple[int, int, int, int]
"""Row length first, as ggml has it; trailing dimensions are 1."""


class Owner(Protocol):
    """Whoever keeps the structs of some tensors alive."""

    @property
    def alive(self) -> bool:
        """Whether they may still be used."""
        ...


class Tensor:
    """type, shape, strides (bytes) and name of one tensor; `nbytes` if it is contiguous."""

    __slots__ = ("_handle", "_owner", "name", "shape", "strides", "type")

    def __init__(self, handle: TensorHandle, owner: Owner) -> None:
        """GraphError for a type that is not handled."""
        address = handle.value
        if not address:
            raise GraphError("there is no such tensor; the graph was put together wrongly")
        number = layout.type_of(address)
        if number not in Type._value2member_map_:
            raise GraphError(f"a tensor of ggml's type {number} cannot be used; use f16, q8_0 or q4_K weights")
        self._handle = handle
        self._owner = owner
        self.type = Type(number)
        self.shape: Shape = layout.shape_of(address)
        self.strides: Shape = layout.strides_of(address)
        self.name = layout.name_of(address)

    @property
    def handle(self) -> TensorHandle:
        """For native calls; GraphError once its owner is closed."""
        if not self._owner.alive:
            raise GraphError(f"the tensor {self.name or self.shape} is gone; its memory was freed")
        return self._handle

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        one, two, three, four = self.shape
        return one * two * three * four

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.shape[1] * self.shape[2] * self.shape[3]

    @property
    def nbytes(self) -> int:
        """Bytes of its elements, without gaps."""
        return self.type.row_bytes(self.shape[0]) * self.rows

    @property
    def contiguous(self) -> bool:
        """Whether there are no gaps and nothing is permuted."""
        row = self.type.row_bytes(self.shape[0])
        return self.strides == (self.type.block_bytes, row, row * self.shape[1], row * self.shape[1] * self.shape[2])

    @property
    def contiguous_rows(self) -> bool:
        """Whether every row by itself is without gaps."""
        return self.strides[0] == self.type.block_bytes

    @property
    def transposed(self) -> bool:
        """Whether rows and columns are swapped in memory."""
        return self.strides[0] > self.strides[1]

    @property
    def buffer(self) -> BufferHandle | None:
        """The memory it lies in; None before there is any."""
        address = self.handle.value
        assert address is not None, "handles of living owners are never empty"
        return layout.buffer_of(address)

    def __repr__(self) -> str:
        return f"{self.name or 'tensor'} {self.type.name} {list(self.shape)}"
