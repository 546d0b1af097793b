"""A text with the drafter of each part, and tinting the runs that the text is rendered as.

Rendering omits Markdown marks but keeps the order, so each rendered run can be found in its source again. A tint is one
more word in a run's tone; the stylesheet gives it a colour.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, replace

from laguna_engine.events import Source
from laguna_tui.tui.drafter_colours import colour_of
from laguna_tui.tui.markdown.flow import CodeFlow, Flow, Flows, ProseFlow, TableFlow
from laguna_tui.tui.text_lines import TextRun, TextRuns, next_boundary

# Characters searched for the next rendered text: more than the address of a link, which may be left out.
_REACH = 200
# The same for texts so short that they occur everywhere: more than the marks between two cells of a table.
_NEAR = 16
_SHORT = 3
_FENCE = re.compile(r"[\s>*+.)\d-]*(?:`{3,}|~{3,})[^\n]*\n")


@dataclass(slots=True)
class TintSwitch:
    """Whether tints are drawn; shared by everything that draws them."""

    on: bool = False


class AttributedText:
    """A growing text that knows who proposed each character: the target or a drafter."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._starts: list[int] = []
        self._sources: list[Source] = []
        self._length = 0

    @property
    def text(self) -> str:
        """The whole text."""
        self._parts = ["".join(self._parts)]
        return self._parts[0]

    @property
    def plain(self) -> bool:
        """Whether the target proposed all of it."""
        return all(source == Source.TARGET for source in self._sources)

    def add(self, text: str, source: Source) -> None:
        """Append text proposed by `source`."""
        if not self._sources or self._sources[-1] != source:
            self._starts.append(self._length)
            self._sources.append(source)
        self._parts.append(text)
        self._length += len(text)

    def take(self, block: str) -> "AttributedText":
        """Remove and return a block near the front; the text before it is dropped."""
        text = self.text
        start = max(0, text.find(block))
        end = min(len(text), start + len(block))
        taken, rest = AttributedText(), AttributedText()
        for part, source in self.parts(start, end):
            taken.add(part, source)
        for part, source in self.parts(end, len(text)):
            rest.add(part, source)
        self._parts, self._starts, self._sources, self._length = rest._parts, rest._starts, rest._sources, rest._length
        return taken

    def parts(self, start: int, end: int) -> list[tuple[str, Source]]:
        """Return the text between two offsets, split where the source changes."""
        text, parts = self.text, []
        index = bisect_right(self._starts, start) - 1
        while start < end:
            until = self._starts[index + 1] if index + 1 < len(self._starts) else self._length
            parts.append((text[start : min(until, end)], self._sources[index]))
            start, index = until, index + 1
        return parts


class Tinter:
    """Tints the rendered runs of a text, in their order, in one pass."""

    def __init__(self, attributed: AttributedText, at: int = 0) -> None:
        self.at = at
        self._attributed = attributed
        self._tone = ""

    def runs(self, runs: TextRuns) -> TextRuns:
        """Return the same runs, split and tinted."""
        return tuple(part for run in runs for part in self._run(run))

    def past_fence(self) -> None:
        """Skip the line that opens a code block, if it comes next."""
        fence = _FENCE.match(self._attributed.text, self.at)
        self.at = fence.end() if fence else self.at

    def _run(self, run: TextRun) -> list[TextRun]:
        found = self._find(run.text)
        if found < 0:
            return self._letters(run)
        self.at = found + len(run.text)
        parts = _whole(self._attributed.parts(found, self.at))
        return [TextRun(text, self._tinted(run.tone, source)) for text, source in parts]

    def _find(self, drawn: str) -> int:
        text = self._attributed.text
        if text.startswith(drawn, self.at):
            return self.at
        if drawn.isspace():
            return -1
        return text.find(drawn, self.at, self.at + len(drawn) + (_REACH if len(drawn) > _SHORT else _NEAR))

    def _letters(self, run: TextRun) -> list[TextRun]:
        """Tint a run that differs from its source, character by character."""
        out: list[TextRun] = []
        text = self._attributed.text
        for letter in run.text:
            found = -1 if letter.isspace() else text.find(letter, self.at, self.at + _NEAR)
            if found >= 0:
                self.at = found + 1
                ((_, source),) = self._attributed.parts(found, self.at)
                self._tinted(run.tone, source)
            tone = f"{run.tone}{self._tone}"
            if out and (out[-1].tone == tone or _continuing(out[-1].text, letter)):
                out[-1] = TextRun(out[-1].text + letter, out[-1].tone)
            else:
                out.append(TextRun(letter, tone))
        return out

    def _tinted(self, tone: str, source: Source) -> str:
        colour = colour_of(source)
        self._tone = f" by-{colour}" if colour else ""
        return f"{tone}{self._tone}"


def _whole(parts: list[tuple[str, Source]]) -> list[tuple[str, Source]]:
    """Keep grapheme clusters in one part, where they begin: split, their width would be measured wrongly."""
    out: list[tuple[str, Source]] = []
    for text, source in parts:
        cut = 0
        if out:
            before, whose = out[-1]
            cut = _continuing(before, text)
            out[-1] = (before + text[:cut], whose)
        if cut < len(text):
            out.append((text[cut:], source))
    return out


def _continuing(before: str, text: str) -> int:
    """Return the number of characters of `text` that continue the grapheme cluster at the end of `before`."""
    if text[:1].isascii():
        return 0
    end = before[-_NEAR:]
    return next_boundary(end + text, len(end)) - len(end)


def tinted(flows: Flows, attributed: AttributedText) -> Flows:
    """Return the flows of a Markdown block, tinted; `attributed` is the block's source."""
    if attributed.plain:
        return flows
    tinter = Tinter(attributed)
    return tuple(_flow(flow, tinter) for flow in flows)


def _flow(flow: Flow, tinter: Tinter) -> Flow:
    match flow:
        case ProseFlow(runs):
            return replace(flow, runs=tinter.runs(runs))
        case CodeFlow(lines):
            tinter.past_fence()
            return replace(flow, lines=tuple(map(tinter.runs, lines)))
        case TableFlow(head, rows):
            tinted_head = tuple(map(tinter.runs, head))
            return replace(flow, head=tinted_head, rows=tuple(tuple(map(tinter.runs, row)) for row in rows))
        case _:
            return flow
