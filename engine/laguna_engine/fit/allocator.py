"""ggml's greedy allocator, played through on paper: how much memory a computation's intermediate results need.

Same rules as `ggml-alloc.c`: best fit among the holes, else the end; freed neighbours are joined; an operation that may
work in place takes over the memory of an operand that nobody needs afterwards. Deals in numbers only.
"""

_ALIGNMENT = 32
"""Of the CPU's buffers; those of other devices are larger and matter as little."""

_ENDLESS = 1 << 62


class Sketch:
    """Values by number, made in the order of the computation. `peak` is what ggml would reserve, in bytes."""

    def __init__(self) -> None:
        self.peak = 0
        self._holes: list[tuple[int, int]] = [(0, _ENDLESS)]
        self._places: dict[int, tuple[int, int]] = {}
        self._uses: dict[int, int] = {}

    def new(self, size: int, uses: int = 1) -> int:
        """Memory for a value of `size` bytes that is read `uses` times."""
        number = len(self._uses)
        size = -(-size // _ALIGNMENT) * _ALIGNMENT
        self._uses[number] = uses
        self._places[number] = (self._take(size), size)
        return number

    def read(self, *values: int) -> None:
        """Some operation has read them, in this order; what nobody reads any more is freed."""
        for value in values:
            self._uses[value] -= 1
            if not self._uses[value]:
                self._free(*self._places.pop(value))

    def into(self, value: int, uses: int = 1) -> int:
        """An operation in place: `value`, read for the last time, becomes what is read `uses` times."""
        self._uses[value] = uses
        return value

    def _take(self, size: int) -> int:
        inner = [(length, index) for index, (_, length) in enumerate(self._holes[:-1]) if length >= size]
        # Of holes of the same size ggml takes the last one it sees.
        index = min(inner, key=lambda pair: (pair[0], -pair[1]))[1] if inner else len(self._holes) - 1
        offset, length = self._holes[index]
        if length == size:
            del self._holes[index]
        else:
            self._holes[index] = (offset + size, length - size)
        self.peak = max(self.peak, offset + size)
        return offset

    def _free(self, offset: int, size: int) -> None:
        index = next(place for place, (start, _) in enumerate(self._holes) if start > offset)
        start, length = self._holes[index]
        if offset + size == start:
            self._holes[index] = (offset, size + length)
        else:
            self._holes.insert(index, (offset, size))
        if index and sum(self._holes[index - 1]) == offset:
            before, length = self._holes.pop(index - 1)
            _, grown = self._holes[index - 1]
            self._holes[index - 1] = (before, length + grown)
