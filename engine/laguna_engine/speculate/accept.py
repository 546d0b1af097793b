"""Which drafted tokens stand: exactly as if the target had been asked for one token after the other.

Two judges. `accept` lets the target pick at every row and compares: exact for any draft, however it was made, and for
any sampling settings. `accept_by_ratio` is for drafts that were sampled: it accepts more of them at high temperatures,
and is exact when `proposals` are what the tokens were really drawn from (Leviathan et al., arXiv 2211.17192,
appendix A.1). Both commit the accepted tokens and one of the target's own, so the accepted count is one less than the
length of what they return.
"""

from collections.abc import Callable, Sequence

from laguna_engine.speculate.filters import Distribution, draw, residual


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


def accept_by_ratio(
    draft: Sequence[int],
    proposals: Sequence[Distribution],
    target: Callable[[int], Distribution],
    random: Callable[[], float],
) -> list[int]:
    """The tokens committed: each drafted one stands with probability min(1, p / q), the first that falls is replaced.

    proposals: for each token the distribution it was drawn from, filters applied. target: the target's distribution at
    a verify row, filters applied, given that the draft's tokens before it stand; asked in order like `accept`'s `pick`.
    random: numbers from 0 to 1, 1 excluded, such as `random.Random(seed).random`.
    A token that its own proposal rules out is judged as one that was certain to be proposed, which is exact however
    it came about. ValueError unless there is one proposal for each token.
    """
    committed: list[int] = []
    for row, (token, claimed) in enumerate(zip(draft, proposals, strict=True)):
        wanted = target(row)
        proposed = claimed.of(token)
        if random() * (proposed or 1.0) >= wanted.of(token):
            proposal = claimed if proposed else Distribution.certain(token)
            committed.append(draw(residual(wanted, proposal), random()))
            return committed
        committed.append(token)
    committed.append(draw(target(len(draft)), random()))
    return committed
