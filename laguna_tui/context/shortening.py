"""Shortening of files for a question: split, scored if there is a scorer, and selected within a budget.

Splits and scores are cached by content, so the same files with another budget cost next to nothing.
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from laguna_engine.compress.estimate import estimate
from laguna_engine.compress.scores import Scores
from laguna_engine.errors import EngineError
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import Choosing
from laguna_tui.base.messages import Attachment, BlockKind, Place
from laguna_tui.base.paths import escaped
from laguna_tui.context import frame
from laguna_tui.context.blocks import Gathered
from laguna_tui.context.bounded_cache import BoundedCache
from laguna_tui.context.compression.compressor import compress
from laguna_tui.context.compression.result import Compression, Part
from laguna_tui.context.compression.spans import Document
from laguna_tui.context.compression.splitting import document
from laguna_tui.context.frame import framed
from laguna_tui.context.scoring import SCORING_S, remembering
from laguna_tui.context.source_files import SourceFile
from laguna_tui.context.token_counter import CachedTokenCounter

if TYPE_CHECKING:
    from laguna_engine.compress.scorer import Scorer


PARSING, SCORING, RANKING = "parsing", "scoring", "ranking"
"""The phases that `progress` reports: ranking by words comes before and after scoring."""
Progress = Callable[[str, float | None], None]

# A file that is cut up takes about eight bytes for each of its characters.
_REMEMBERED_CHARS = 8 * 1024 * 1024
# Parsing, ranking by words, choosing and counting, in times of parsing.
_PARSINGS = 3.0
# Longer texts are not worth their place among what is remembered.
_LONGEST_CHARS = 1024 * 1024
_CUT_UP = BoundedCache[tuple[str, str, bool], Document](_REMEMBERED_CHARS)


def shorten(
    files: Sequence[tuple[str, str]],
    query: str,
    budget: int,
    measure: Callable[[str], int],
    scorer: "Scorer | None" = None,
    should_stop: Callable[[], bool] = lambda: False,
    protected: Collection[str] = (),
    progress: Progress = lambda phase, share: None,
    seconds: float = SCORING_S,
) -> Compression:
    """What to keep of the files (path, text), in their order, within `budget` tokens to answer `query`.

    Args:
        measure: the tokens of a text. scorer: an open one, or None to rank by words alone.
        should_stop: asked now and then; scoring ends when it says so. protected: paths to keep whole.
        progress: is given what is being done, and which share of it is; None where that is not known.
        seconds: most that all of it takes if there is a scorer; what it has no time for is ranked by words.
    """
    began = time.monotonic()
    documents = []
    for number, (path, text) in enumerate(files):
        progress(PARSING, number / len(files))
        documents.append(_document(path, text, path in protected))
    progress(RANKING, None)
    if scorer is None:
        return compress(documents, query, budget, measure, None, should_stop)
    # What is done after scoring is known by how long parsing took.
    left = max(0.0, seconds - _PARSINGS * (time.monotonic() - began))
    scores = remembering(scorer, left, should_stop, lambda share: progress(SCORING, share))

    def ranks(texts: Sequence[str], query: str) -> Sequence[Scores]:
        found = scores(texts, query)
        progress(RANKING, None)
        return found

    return compress(documents, query, budget, measure, ranks, should_stop)


def _document(path: str, text: str, protected: bool) -> Document:
    key = path, text, protected
    made = _CUT_UP.get(key)
    if made is None:
        made = document(path, text, protected=protected)
        if len(text) <= _LONGEST_CHARS:
            _CUT_UP.put(key, made, len(text))
    return made


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
    then; no scorer is asked any more once it says so. scored: called when the scorer is needed no more.
    scoring_s: most seconds that the scorer may take. progress: called several times a second. skipped: whether the user
    wants to wait for the scorer no longer; asked like `should_stop`.
    """

    question: str
    measure: CachedTokenCounter
    scorer: "Callable[[], Scorer | None]" = lambda: None
    reading_s: Callable[[int], float | None] = lambda tokens: None
    should_stop: Callable[[], bool] = lambda: False
    scored: Callable[[], None] = lambda: None
    scoring_s: float = SCORING_S
    progress: Callable[[Choosing], None] = lambda progress: None
    skipped: Callable[[], bool] = lambda: False

    def attachments(self, sources: tuple[SourceFile, ...], room: int) -> Gathered:
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

    def whole(self, source: SourceFile) -> Attachment:
        """A file with nothing left out, which the user may have shortened."""

        text, title = framed_whole(source), escaped(source.path)
        cut = FileShortener(source, self.question, self.measure) if len(source.lines) >= _FEWEST_LINES else None
        return Attachment(BlockKind.FILE, title, source.path, text, text, Place.KEPT, "it fits", shorter=cut)

    def _compressed(self, sources: tuple[SourceFile, ...], budget: int) -> tuple[Compression, tuple[str, ...]]:
        """What is left of the files, and what there is to say about it."""
        files = [(escaped(source.path), source.text) for source in sources]
        notes: tuple[str, ...] = ()
        # Opening a scorer and measuring it takes seconds too.
        self.progress(Choosing(len(files), PARSING))
        try:
            scorer, seconds, notes = self._asked(sum(self.measure(text) for _, text in files), budget)
            found = shorten(
                files,
                self.question,
                budget,
                self.measure,
                scorer,
                lambda: self.should_stop() or self.skipped(),
                progress=self._reporter(len(files), None if scorer is None else seconds),
                seconds=seconds,
            )
        except (EngineError, UserError) as error:
            notes = (*notes, FAILED.format(reason=error))
            found = shorten(files, self.question, budget, self.measure)
        finally:
            self.scored()
        return found, (*notes, *found.notes)

    def _reporter(self, files: int, limit_s: float | None) -> Progress:
        """Reports what `shorten` does with so many files."""
        return lambda phase, share: self.progress(Choosing(files, phase, share, limit_s))

    def _asked(self, tokens: int, budget: int) -> "tuple[Scorer | None, float, tuple[str, ...]]":
        """The scorer and its seconds, unless asking it takes longer than reading everything would; and what to say."""
        scorer = self.scorer() if tokens > budget else None
        seconds = self.reading_s(tokens)
        if scorer is None or not seconds:
            return scorer, self.scoring_s, ()
        told = estimate(tokens, budget, tokens / seconds, scorer.rate or scorer.measure(), self.scoring_s)
        # That words alone decided is told with each file.
        return (scorer, told.limit_s, (told.sentence,)) if told.worth else (None, 0.0, ())

    def _head(self, source: SourceFile) -> int:
        count = len(source.lines)
        return self.measure(framed(source.path, "", frame.shortened(count, count))) + _SEAM

    def _attachment(self, source: SourceFile, part: Part, scored_by: str) -> Attachment:
        text, everything = framed_part(source, part), framed_whole(source)
        if not part.dropped:
            # Another question would have left more room to another file.
            return replace(self.whole(source), certain=False)
        why = f"{_kept_lines(part)} of {len(source.lines)} lines fit, chosen by {scored_by}"
        return Attachment(
            BlockKind.FILE, escaped(source.path), source.path, text, everything, Place.SHORTENED, why,
            shorter=lambda: text, certain=False,
        )  # fmt: skip


class FileShortener:
    """Shortens one file as the user wishes: the same every time, by words alone.

    Attributes:
        question: what for.
    """

    def __init__(self, source: SourceFile, question: str, measure: CachedTokenCounter) -> None:
        self.question = question
        self._source, self._measure = source, measure
        self._text: str | None = None

    @classmethod
    def of_attached(cls, attachment: Attachment, question: str, measure: CachedTokenCounter) -> "FileShortener":
        """What shortens a file that was attached whole, from what stands in the prompt of it."""
        text = frame.unframed(attachment.whole)
        return cls(SourceFile(attachment.path, text, 0, 0), question, measure)

    def __call__(self) -> str:
        """The shortened text in its frame."""
        if self._text is None:
            budget = max(1, int(self._measure(self._source.text) * KEEP))
            found, _ = Shortening(self.question, self._measure)._compressed((self._source,), budget)
            self._text = framed_part(self._source, found.parts[0])
        return self._text


def framed_whole(source: SourceFile) -> str:
    """A file's frame with all of it in it."""
    return framed(source.path, source.text, frame.whole(len(source.lines)))


def framed_part(source: SourceFile, part: Part) -> str:
    """A file's frame with what is left of it."""
    return framed(source.path, part.text, frame.shortened(_kept_lines(part), len(source.lines)))


def _kept_lines(part: Part) -> int:
    """How many of the file's lines are in the text."""
    lines: set[int] = set()
    for _, start, length in part.copies:
        first, last = part.document.lines(start, start + length)
        lines.update(range(first, last + 1))
    return len(lines)
