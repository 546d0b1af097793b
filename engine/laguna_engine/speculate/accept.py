"""Which drafted tokens stand: exactly as if the target had been asked for one token after the other.

The target picks at every row by the request's whole sampling chain, and a drafted token is accepted while it is the one
picked. That is exact for any draft, however it was made and wherever it was cut, and for any sampling settings: what is
picked depends on the target's logits, the seed and the position alone (`laguna_engine.llama.sampler`).
"""

from collections.abc import Callable, Sequence


def accept(draft: Sequence[int], pick: Callable[[int], int]) -> list[int]:
    """The tokens committed: the draft up to where the target picks otherwise, and what it picks there.

    draft: proposed token ids. pick: runs the whole sampling chain on a verify row and lets it remember the token; it is
    asked for rows 0, 1, … in order, `len(draft)` at most, and for none after the first that differs.
    """
    committed: list[int] = []
    for row, proposed in enumerate(draft):
        token = pick(row)
        committed.append(token)
        if token != proposed:
            return committed
    committed.append(pick(len(draft)))
    return committed
