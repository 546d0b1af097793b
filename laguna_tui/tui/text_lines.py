"""Styled runs of text, measured in terminal cells, wrapped into lines or fitted into one; progress bars and sparklines.

A tone is a list of words separated by blanks, each a component class of the transcript; later words win.
A tab in a row is the character itself and as many `TAB_FILL` as it takes cells more, so that copying finds it again.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len, get_character_cell_size, split_graphemes

from laguna_tui.base.text import JOINER, LETTER_JOINER


class TextRun(NamedTuple):
    """Text in one tone."""

    text: str
    tone: str = "text"


TextRuns = tuple[TextRun, ...]


class TextLine(NamedTuple):
    """One row of the screen, without the gutter.

    Attributes:
        runs: its text.
        glue: the source text between the row above and this one: None for a line break, else the blank (or nothing) at
            which a long line was wrapped. Copying joins the rows with it.
        lead: cells at the start that copying leaves out.
        fill: the tone that fills the row up to cell `reach`, if any.
        reach: see `fill`.
        left: characters of the left column, of a row that has two; copying takes the right one, or the left one where
            nothing else is selected.
        number: the line of a file that it shows, from 1; 0 for none.
    """

    runs: TextRuns
    glue: str | None = None
    lead: int = 0
    fill: str = ""
    reach: int = 0
    left: int = 0
    number: int = 0


BLANK = TextLine(())


def plain(runs: TextRuns) -> str:
    """Return the text of the runs."""
    return "".join(run.text for run in runs)


TAB = 4
# No sanitised text has this character. Unlike other blanks of C0 it does not end a line for `str.splitlines`.
TAB_FILL = "\x1f"
# Of the same width as the joiner, behind which rich takes the next character for a part of the same emoji.
_WORD_JOINER = "\u2060"


def expand_tabs(runs: TextRuns) -> TextRuns:
    """Return the runs of a line with every tab filled up to the next multiple of `TAB` cells."""
    if not any("\t" in run.text for run in runs):
        return runs
    column = 0
    expanded: list[TextRun] = []
    for text, tone in runs:
        first, *others = text.split("\t")
        parts, column = [first], column + cells(first)
        for part in others:
            fill = TAB_FILL * (TAB - 1 - column % TAB)
            parts += ["\t", fill, part]
            column += 1 + len(fill) + cells(part)
        expanded.append(TextRun("".join(parts), tone))
    return tuple(expanded)


def drawn(text: str) -> str:
    """Return a text of expanded runs as a terminal shows it: tabs are blanks, joined letters have a cell each."""
    text = text.replace("\t", " ").replace(TAB_FILL, " ")
    return re.sub(LETTER_JOINER, _WORD_JOINER, text) if JOINER in text else text


def collapse_tabs(text: str) -> str:
    """Return a text of expanded runs, or part of it, as it was before."""
    return text.replace(TAB_FILL, "")


def width_of_runs(runs: TextRuns) -> int:
    """Return the width of the runs of a line in terminal cells, with its tabs expanded."""
    return cells(plain(expand_tabs(runs)))


# A word, or one ideograph: East Asian text may break between any two of them. A no-break space is part of a word.
_WIDE = "\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffdc\U00020000-\U0003fffd"
_WORD = re.compile(rf"[{_WIDE}]\ufe0f?|[^ \t{TAB_FILL}\n\u3000{_WIDE}]+")
# Nothing is readable in fewer cells; narrower layouts are made this wide and cropped.
MIN_WIDTH = 4
# From this width of the screen on, diffs have two columns, and panels stand beside the transcript.
WIDE_FROM = 140
# Two regional indicators are a flag; each is measured as one cell.
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))


def cells(text: str) -> int:
    """Return the width of the text in terminal cells."""
    return len(text) if text.isascii() else cell_len(drawn(text))


def wrap(runs: TextRuns, width: int, first: TextRuns = (), rest: TextRuns = (), fill: str = "") -> list[TextLine]:
    """Wrap runs at blanks into rows of at most `width` cells, including the prefixes `first` and `rest`.

    With `fill`, that tone fills each row up to `width`.
    """
    rows: list[TextLine] = []
    for paragraph in map(expand_tabs, split_lines(runs)):
        text = plain(paragraph)
        spans = break_words(text, max(MIN_WIDTH, width - cells(plain(rest))))
        before = 0
        for (start, end), inside in zip(spans, cut(paragraph, spans), strict=True):
            lead = rest if rows else first
            glue = text[before:start] if before else None
            rows.append(TextLine(lead + inside, glue, cells(plain(lead)), fill, width))
            before = end
    return rows


def fold(runs: TextRuns, width: int) -> list[TextRuns]:
    """Fold the runs of a line anywhere into rows of at most `width` cells, keeping every blank: for code."""
    runs = expand_tabs(runs)
    text = plain(runs)
    if cells(text) <= width:
        return [runs]
    return cut(runs, _folds(text, 0, len(text), max(MIN_WIDTH, width)))


def split_lines(runs: TextRuns) -> list[TextRuns]:
    """Return the runs, split at newlines."""
    lines: list[list[TextRun]] = [[]]
    for text, tone in runs:
        head, *more = text.split("\n")
        if head:
            lines[-1].append(TextRun(head, tone))
        lines.extend([TextRun(part, tone)] if part else [] for part in more)
    return [tuple(line) for line in lines]


def break_words(text: str, width: int) -> list[tuple[int, int]]:
    """Start and end of each row in the text; the blanks between two rows belong to neither."""
    if cells(text) <= width:
        return [(0, len(text))]
    rows: list[tuple[int, int]] = []
    start = end = used = 0
    for word in _WORD.finditer(text):
        more = cells(text[end : word.end()])
        if used + more <= width:
            end, used = word.end(), used + more
            continue
        if end > start:
            rows.append((start, end))
        *whole, (start, end) = _folds(text, word.start(), word.end(), width, joints="/_-")
        rows.extend(whole)
        used = cells(text[start:end])
    rows.append((start, end))
    return rows


def next_boundary(text: str, at: int) -> int:
    """Return the next offset from `at` on that is not inside a grapheme cluster, such as an emoji."""
    while 0 < at < len(text) and _joins(text, at):
        at += 1
    return at


def _joins(text: str, at: int) -> bool:
    """Return whether the character continues the one before it."""
    if text[at].isascii():
        return False
    if text[at] in _FLAG_LETTERS:
        before = len(text[:at]) - len(text[:at].rstrip(_FLAG_LETTERS))
        return before % 2 == 1
    return text[at - 1] == JOINER or not get_character_cell_size(text[at])


def _folds(text: str, start: int, end: int, width: int, joints: str = "") -> list[tuple[int, int]]:
    """Return rows of a stretch of the text; each ends behind the first of the joints in its last two thirds, if any."""
    rows: list[tuple[int, int]] = []
    while cells(text[start:end]) > width:
        part = text[start : min(end, next_boundary(text, start + width))]
        stop = start + (_fitting(part, width) or next_boundary(part, 1))
        ends = (text.rfind(joint, start + (stop - start) // 3, stop) + 1 for joint in joints)
        stop = next(filter(None, ends), stop)
        rows.append((start, stop))
        start = stop
    return [*rows, (start, end)]


def _fitting(text: str, width: int) -> int:
    """Return the number of leading characters that fit into `width` cells."""
    if text.isascii():
        return min(len(text), width)
    room = width
    for start, _, size in split_graphemes(drawn(text))[0]:
        room -= size
        if room < 0:
            return _flag_start(text, start)
    return len(text)


def _flag_start(text: str, at: int) -> int:
    """Return the offset, or the one before it if it would cut a flag in two."""
    return at - 1 if at and text[at] in _FLAG_LETTERS and _joins(text, at) else at


def cut(runs: TextRuns, spans: list[tuple[int, int]]) -> list[TextRuns]:
    """Return the runs within each span of character offsets; spans are in order."""
    if len(spans) == 1:
        return [runs]
    out: list[TextRuns] = []
    index = at = 0  # the current run, and the offset it starts at
    for start, end in spans:
        inside: list[TextRun] = []
        while index < len(runs):
            text, tone = runs[index]
            if at + len(text) > start and at < end:
                inside.append(TextRun(text[max(0, start - at) : end - at], tone))
            if at + len(text) > end:
                break
            at += len(text)
            index += 1
        out.append(tuple(inside))
    return out


def index_at(text: str, column: int) -> int:
    """Return the offset of the character in cell `column`; at most the length of the text."""
    return _fitting(text, column)


def crop(text: str, width: int) -> str:
    """Return the start of the text in at most `width` cells, with an ellipsis if it was cut."""
    if cells(text) <= width:
        return text
    return text[: _fitting(text, max(0, width - 1))] + "…" if width > 0 else ""


def fitting(width: int, *texts: str) -> str:
    """Return the first of these texts that fits into `width` cells; if none does, the start of the last one."""
    return next((text for text in texts if cells(text) <= width), crop(texts[-1], width))


def crop_front(text: str, width: int) -> str:
    """Return the end of the text in at most `width` cells, with an ellipsis if it was cut."""
    if cells(text) <= width:
        return text
    start, room = len(text), max(0, width - 1)
    for first, _, size in reversed(split_graphemes(drawn(text))[0]):
        room -= size
        if room < 0:
            break
        start = first
    return "…" + text[next_boundary(text, start) :] if width > 0 else ""


BAR_FULL, BAR_HALF, BAR_EMPTY = "━", "╸", "─"
NO_COLUMN, COLUMNS = "·", "▁▂▃▄▅▆▇█"


def progress_bar(fraction: float, width: int) -> str:
    """Return a bar of exactly `width` cells."""
    halves = round(max(0.0, min(1.0, fraction)) * width * 2)
    return (BAR_FULL * (halves // 2) + BAR_HALF * (halves % 2)).ljust(width, BAR_EMPTY)


def sparkline(values: Sequence[float], top: float) -> str:
    """Return one cell per value: a column that is full at `top`, or a dot for zero."""
    last = len(COLUMNS) - 1
    return "".join(COLUMNS[min(last, round(value / top * last))] if value > 0 else NO_COLUMN for value in values)


StyledText = tuple[str, str]
"""Text and its Textual style."""

MUTED, BUSY, GOOD, BAD = "$foreground 70%", "$primary", "$success", "$error"
GAP: StyledText = ("  ", MUTED)


def fitted(segments: Sequence[list[StyledText]], width: int) -> list[StyledText]:
    """Return the first segments that fit, with gaps between them; the first is cropped if it alone is too wide."""
    row: list[StyledText] = []
    used = 0
    for segment in segments:
        more = width_of(segment) + (cells(GAP[0]) if row else 0)
        if used + more > width:
            break
        row += [*([GAP] if row else []), *segment]
        used += more
    if not row and segments:
        *before, (text, style) = segments[0]
        return [*before, (crop(text, width - width_of(before)), style)]
    return row


def width_of(segment: Sequence[StyledText]) -> int:
    """Return the cells of a segment."""
    return sum(cells(text) for text, _ in segment)
