"""Who gets how much of a room that is too small for all."""

from collections.abc import Sequence


def whole(sizes: Sequence[int | None], room: int) -> frozenset[int]:
    """Which of several things are taken whole; the others share what is left.

    What is smaller than an equal share is taken whole, and what it leaves goes to the others (max-min fairness), so
    that one large file cannot push three small ones out. When all of them fit, all are whole.

    Args:
        sizes: tokens, None for more than can be.
        room: tokens for all of them.
    """
    chosen: set[int] = set()
    for size, index in sorted((size, index) for index, size in enumerate(sizes) if size is not None):
        if size > room // (len(sizes) - len(chosen)):
            break
        chosen.add(index)
        room -= size
    return frozenset(chosen)
