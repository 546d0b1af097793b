"""The blocks of a context and what the user wants of them, before anything is done. Values only, no widget."""

from collections.abc import Mapping, Sequence

from laguna_tui.context.blocks import ContextBlock, Place

Changes = Mapping[int, Place]


class Board:
    """`changes` holds what differs from how it is now, by the blocks' numbers."""

    def __init__(self) -> None:
        self.blocks: tuple[ContextBlock, ...] = ()
        self.changes: dict[int, Place] = {}

    @property
    def used(self) -> int:
        """Tokens of all blocks."""
        return sum(block.tokens for block in self.blocks)

    @property
    def cached(self) -> int:
        """Those of them that are in the KV cache."""
        return sum(block.cached for block in self.blocks)

    def lay(self, blocks: Sequence[ContextBlock]) -> None:
        """These are the blocks now. What was wanted of them is kept as far as it still can be had and is a change."""
        self.blocks = tuple(blocks)
        can = {block.number: block for block in blocks}
        self.changes = {
            number: place
            for number, place in self.changes.items()
            if number in can and place in can[number].choices and place is not can[number].place
        }

    def place(self, block: ContextBlock) -> Place:
        """Where the user wants the block."""
        return self.changes.get(block.number, block.place)

    def cycle(self, block: ContextBlock) -> bool:
        """Want the block in the next place it can have; whether there is one."""
        if len(block.choices) < 2:
            return False
        at = block.choices.index(self.place(block)) if self.place(block) in block.choices else -1
        wanted = block.choices[(at + 1) % len(block.choices)]
        self.changes.pop(block.number, None)
        if wanted is not block.place:
            self.changes[block.number] = wanted
        return True
