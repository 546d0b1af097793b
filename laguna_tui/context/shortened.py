"""Files that do not fit, shortened together to the room there is, each in its frame."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from laguna_engine.compress.compressor import Compression, Part
from laguna_engine.compress.estimate import estimate
from laguna_engine.errors import EngineError
from laguna_tui.context import frame
from laguna_tui.context.attachment import Attachment, Gathered
from laguna_tui.context.blocks import BlockKind, Place
from laguna_tui.context.frame import framed
from laguna_tui.context.shorten import shorten
from laguna_tui.context.sources import Source
from laguna_tui.context.tokens import Counter
from laguna_tui.errors import UserError
from laguna_tui.repo.names import shown

if TYPE_CHECKING:
    from laguna_engine.compress.scorer import Scorer

TOKENS_A_FILE = 64
"""Less than this of a file is not worth its frame and the marks in it."""
# A file that the user shortens keeps so much: callees of a call that is asked about are still there nearly always.
KEEP = 0.3
# A file of fewer lines is its own summary.
_FEWEST_LINES = 10
# Two texts can have a token more together than apart.
_SEAM = 1
FAILED = "the scorer cannot be used ({reason}), so words alone decide what is kept"


@dataclass(frozen=True, slots=True)
class Shortening:
    """How files are shortened.

    question: what for. measure: the tokens of a text. scorer: gives an open one when it is needed, or None. reading_s:
    seconds in which the model would read so many tokens, None before that was measured. should_stop: asked now and
    then; no scorer is asked any more once it says so.
    """

    question: str
    measure: Counter
    scorer: "Callable[[], Scorer | None]" = lambda: None
    reading_s: Callable[[int], float | None] = lambda tokens: None
    should_stop: Callable[[], bool] = lambda: False

    def attachments(self, sources: tuple[Source, ...], room: int) -> Gathered:
        """As much of the files as fits; files of which nothing would be left are not among them."""
        heads = [self._head(source) for source in sources]
        while heads and sum(heads) + TOKENS_A_FILE > room:
            heads.pop()
        chosen = sources[: len(heads)]
        if not chosen:
            return Gathered()
        found, notes = self._compressed(chosen, room - sum(heads))
        parts = [(source, part) for source, part in zip(chosen, found.parts, strict=True) if part.kept]
        made = [self._attachment(source, part, found.scored_by) for source, part in parts]
        # Only what must not be touched can be too much; the files that matter least go first.
        while made and sum(self.measure(each.text) for each in made) > room:
            made.pop()
        # Of what is not there nobody needs to know how it was shortened.
        return Gathered(tuple(made), notes) if made else Gathered()

    def whole(self, source: Source) -> Attachment:
        """A file with nothing left out, which the user may have shortened."""

        @cache
        def shorter() -> str:
            budget = max(1, int(self.measure(source.text) * KEEP))
            plain = Shortening(self.question, self.measure)
            return framed_part(source, plain._compressed((source,), budget)[0].parts[0])

        text, title = framed_whole(source), shown(source.path)
        cut = shorter if len(source.lines) >= _FEWEST_LINES else None
        return Attachment(BlockKind.FILE, title, source.path, text, text, Place.KEPT, "it fits", shorter=cut)

    def _compressed(self, sources: tuple[Source, ...], budget: int) -> tuple[Compression, tuple[str, ...]]:
        """What is left of the files, and what there is to say about it."""
        files = [(shown(source.path), source.text) for source in sources]
        notes: tuple[str, ...] = ()
        try:
            scorer, notes = self._asked(sum(self.measure(text) for _, text in files), budget)
            found = shorten(files, self.question, budget, self.measure, scorer, self.should_stop)
        except (EngineError, UserError) as error:
            notes = (*notes, FAILED.format(reason=error))
            found = shorten(files, self.question, budget, self.measure)
        return found, (*notes, *found.notes)

    def _asked(self, tokens: int, budget: int) -> "tuple[Scorer | None, tuple[str, ...]]":
        """The scorer, unless asking it takes longer than reading everything would."""
        scorer = self.scorer() if tokens > budget else None
        seconds = self.reading_s(tokens)
        if scorer is None or not seconds:
            return scorer, ()
        told = estimate(tokens, budget, tokens / seconds, scorer.rate or scorer.measure())
        # That words alone decided is told with each file.
        return (scorer, (told.sentence,)) if told.worth else (None, ())

    def _head(self, source: Source) -> int:
        count = len(source.lines)
        return self.measure(framed(source.path, "", frame.shortened(count, count))) + _SEAM

    def _attachment(self, source: Source, part: Part, scored_by: str) -> Attachment:
        text, everything = framed_part(source, part), framed_whole(source)
        if not part.dropped:
            # Another question would have left more room to another file.
            return replace(self.whole(source), certain=False)
        why = f"{_kept_lines(part)} of {len(source.lines)} lines fit, chosen by {scored_by}"
        return Attachment(
            BlockKind.FILE, shown(source.path), source.path, text, everything, Place.SHORTENED, why,
            shorter=lambda: text, certain=False,
        )  # fmt: skip


def framed_whole(source: Source) -> str:
    """A file's frame with all of it in it."""
    return framed(source.path, source.text, frame.whole(len(source.lines)))


def framed_part(source: Source, part: Part) -> str:
    """A file's frame with what is left of it."""
    return framed(source.path, part.text, frame.shortened(_kept_lines(part), len(source.lines)))


def _kept_lines(part: Part) -> int:
    """How many of the file's lines stand in the text."""
    lines: set[int] = set()
    for _, start, length in part.copies:
        first, last = part.document.lines(start, start + length)
        lines.update(range(first, last + 1))
    return len(lines)
