"""Which part of a changed line is another one: what two lines have in common at both ends is set back."""

from collections.abc import Iterator, Sequence

from laguna_tui.tui.markdown.flow import Run, Runs, plain
from laguna_tui.tui.markdown.wrap import cut

# Where less of a line than one in so many characters stayed, all of it is another one.
_STAYED = 3


def partners(signs: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where a dropped line stands that an added one replaces, for blocks that have as many of both."""
    at = 0
    while at < len(signs):
        dropped = _run(signs, at, "-")
        added = _run(signs, dropped, "+")
        if dropped - at == added - dropped:
            yield from zip(range(at, dropped), range(dropped, added), strict=True)
        at = max(added, at + 1)


def _run(signs: Sequence[str], at: int, sign: str) -> int:
    """The end of the signs of a kind that begin here."""
    while at < len(signs) and signs[at] == sign:
        at += 1
    return at


def emphasised(one: Runs, other: Runs, tones: tuple[str, str]) -> tuple[Runs, Runs]:
    """Both lines, with these tones on the part that differs; unchanged where too little stayed the same."""
    before, after = plain(one), plain(other)
    start, end = _common(before, after)
    stayed = len(before[:start].strip()) + end
    if not stayed or stayed * _STAYED < max(len(before.strip()), len(after.strip())):
        return one, other
    return _toned(one, start, len(before) - end, tones[0]), _toned(other, start, len(after) - end, tones[1])


def _common(one: str, other: str) -> tuple[int, int]:
    """How many characters are the same at the start and at the end; a name is never cut in two."""
    shorter = min(len(one), len(other))
    start = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    most, end = shorter - start, 0
    while end < most and one[-1 - end] == other[-1 - end]:
        end += 1
    if any(_is_word(text[start : start + 1]) for text in (one, other)):
        while start and _is_word(one[start - 1]):
            start -= 1
    if any(_is_word(text[: len(text) - end][-1:]) for text in (one, other)):
        while end and _is_word(one[len(one) - end]):
            end -= 1
    return start, end


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _toned(runs: Runs, start: int, end: int, tone: str) -> Runs:
    before, inside, after = cut(runs, [(0, start), (start, end), (end, len(plain(runs)))])
    marked = (Run(text, f"{old} {tone}") for text, old in inside)
    return tuple(run for run in (*before, *marked, *after) if run.text)
