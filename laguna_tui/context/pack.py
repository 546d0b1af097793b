"""The pack at the beginning of a conversation: a map of the folder, and the code that matches the question best.

Frozen: the same question about the same files gives the same bytes, and nothing in it changes by itself (no time, no
git state). The map does not depend on the question, so it comes before everything that does. Both come from the index
as it is; whether to wait for it is decided elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from laguna_tui.base.messages import Attachment, BlockKind, Place
from laguna_tui.base.paths import escaped
from laguna_tui.context.codebase import Codebase
from laguna_tui.context.frame import framed, headed, stretches
from laguna_tui.context.source_files import SourceFile, SourceFiles
from laguna_tui.context.token_counter import CachedTokenCounter
from laguna_tui.repo.files.workspace import WorkspaceError

# Code that answers the question says more than a map, so it gets the larger part.
MAP_SHARE = 0.4
# A map in fewer tokens is not worth its heading.
MIN_TOKENS = 64
# The first few results are nearly always right; far down the list, words only match by chance.
_SPANS = 12
_WORTH = 0.25
_BETWEEN = "…\n"
_MAP_TITLE = "map of the folder"
_MAP_HEAD = "Map of the folder: its {shown} most important of {known} definitions, each with its line"


@dataclass(frozen=True, slots=True)
class _FileSpans:
    """Some lines of one file that the index found, best first; `ranges` are sorted and apart."""

    source: SourceFile
    ranges: tuple[tuple[int, int], ...]

    def framed(self) -> str:
        lines = self.source.lines
        parts = ("".join(f"{line}\n" for line in lines[first - 1 : last]) for first, last in self.ranges)
        return framed(self.source.path, _BETWEEN.join(parts), stretches(self.ranges, len(lines)))


def folder_map(codebase: Codebase, budget: int, count: CachedTokenCounter) -> Attachment | None:
    """Return the map of the folder within a number of tokens, framing included; None when there is nothing to show."""
    head = count(headed(_MAP_HEAD.format(shown=10**4, known=10**6), ""))
    if budget < head + MIN_TOKENS:
        return None
    room = budget - head
    found = codebase.map(room, lambda text: room + 1 if (tokens := count.within(text, room)) is None else tokens)
    if not found.text:
        return None
    text = headed(_MAP_HEAD.format(shown=found.shown, known=found.known), found.text)
    why = f"the {found.shown} definitions that others use most"
    return Attachment(BlockKind.MAP, _MAP_TITLE, "", text, text, Place.KEPT, why)


def best_spans(
    codebase: Codebase, sources: SourceFiles, question: str, budget: int, count: CachedTokenCounter
) -> tuple[Attachment, ...]:
    """Return the code that the index ranks best for the question, within a number of tokens, one attachment a file."""
    pieces: dict[str, _FileSpans] = {}
    costs: dict[str, int] = {}
    found = codebase.search(question, _SPANS)
    for result in found:
        unit = result.unit
        if result.score < found[0].score * _WORTH:
            break
        piece = _with(pieces.get(unit.path), sources, unit.path, unit.line, unit.end)
        cost = None if piece is None else count.within(piece.framed(), budget)
        if piece is None or cost is None or sum({**costs, unit.path: cost}.values()) > budget:
            continue
        pieces[unit.path], costs[unit.path] = piece, cost
    return tuple(map(_attached, pieces.values()))


def _with(piece: _FileSpans | None, sources: SourceFiles, path: str, first: int, last: int) -> _FileSpans | None:
    """Return the piece with more lines; None when the file cannot be read or no longer has anything there."""
    if piece is None:
        try:
            piece = _FileSpans(sources.read(path), ())
        except WorkspaceError:
            return None
    last = min(last, len(piece.source.lines))
    if not any(line.strip() for line in piece.source.lines[first - 1 : last]):
        return None
    return replace(piece, ranges=_joined([*piece.ranges, (first, last)]))


def _joined(ranges: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return tuple(joined)


def _attached(piece: _FileSpans) -> Attachment:
    path, text = piece.source.path, piece.framed()
    numbers = ", ".join(f"{first}-{last}" if first < last else f"{first}" for first, last in piece.ranges)
    title = f"{escaped(path)}:{numbers}"
    return Attachment(BlockKind.FILE, title, path, text, text, Place.KEPT, "fits the question best", certain=False)
