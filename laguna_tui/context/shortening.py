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
from laguna_tui.context.compression.result import Compression, ShortenedDocument
from laguna_tui.context.compression.spans import Document
from laguna_tui.context.compression.splitting import document
from laguna_tui.context.frame import framed
from laguna_tui.context.scoring import NO_SCORER, SCORING_S, ScorerSource, remembering
from laguna_tui.context.source_files import SourceFile
from laguna_tui.context.token_counter import CachedTokenCounter

if TYPE_CHECKING:
    from laguna_engine.compress.scorer import Scorer


PARSING, SCORING, RANKING = "parsing", "scoring", "ranking"
"""The phases that `progress` reports: ranking by words comes before and after scoring."""
Progress = Callable[[str, float | None], None]

# A split file takes about eight bytes per character.
_CACHED_CHARS = 8 * 1024 * 1024
# Time of parsing, ranking by words, selecting and counting, in multiples of parsing.
_PARSINGS = 3.0
# Longer texts are not worth their place in the cache.
_LONGEST_CACHED_CHARS = 1024 * 1024
_DOCUMENTS = BoundedCache[tuple[str, str, bool], Document](_CACHED_CHARS)


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
    """Shorten files (path, text), in their order, to `budget` tokens for answering `query`.

    Args:
        files: path and text of each.
        query: the question.
        budget: most tokens of the result.
        measure: returns the tokens of a text.
        scorer: an open scorer, or None to rank by words alone.
        should_stop: polled; scoring ends once it returns True.
        protected: paths to keep whole.
        progress: called with the phase and its finished share, None where that is unknown.
        seconds: time limit if there is a scorer; text that it has no time for is ranked by words.
    """
    began = time.monotonic()
    documents = []
    for number, (path, text) in enumerate(files):
        progress(PARSING, number / len(files))
        documents.append(_document(path, text, path in protected))
    progress(RANKING, None)
    if scorer is None:
        return compress(documents, query, budget, measure, None, should_stop)
    # The time after scoring is estimated from the time of parsing.
    left = max(0.0, seconds - _PARSINGS * (time.monotonic() - began))
    scores = remembering(scorer, left, should_stop, lambda share: progress(SCORING, share))

    def ranks(texts: Sequence[str], query: str) -> Sequence[Scores]:
        found = scores(texts, query)
        progress(RANKING, None)
        return found

    return compress(documents, query, budget, measure, ranks, should_stop)


def _document(path: str, text: str, protected: bool) -> Document:
    key = path, text, protected
    made = _DOCUMENTS.get(key)
    if made is None:
        made = document(path, text, protected=protected)
        if len(text) <= _LONGEST_CACHED_CHARS:
            _DOCUMENTS.put(key, made, len(text))
    return made


TOKENS_A_FILE = 64
"""Less than this of a file is not worth its frame and the marks in it."""
# Share of a file that the user shortens: callees of a call in question are nearly always kept.
KEEP = 0.3
# A file with fewer lines is not shortened.
_FEWEST_LINES = 10
# Two joined texts can have one token more than apart.
_SEAM = 1
FAILED = "the scorer cannot be used ({reason}), so words alone decide what is kept"


@dataclass(frozen=True, slots=True)
class Shortening:
    """How files are shortened.

    Attributes:
        question: what for.
        measure: returns the tokens of a text.
        scorer: where a scorer comes from.
        reading_s: returns the seconds in which the model would read a number of tokens; None before that was measured.
        should_stop: polled; scoring ends once it returns True.
        progress: called several times a second.
        scoring_s: time limit of the scorer in seconds.
    """

    question: str
    measure: CachedTokenCounter
    scorer: ScorerSource = NO_SCORER
    reading_s: Callable[[int], float | None] = lambda tokens: None
    should_stop: Callable[[], bool] = lambda: False
    progress: Callable[[Choosing], None] = lambda progress: None
    scoring_s: float = SCORING_S

    def attachments(self, sources: tuple[SourceFile, ...], room: int) -> Gathered:
        """Return as much of the files as fits, without files of which nothing would be left."""
        heads = [self._head(source) for source in sources]
        while heads and sum(heads) + TOKENS_A_FILE > room:
            heads.pop()
        chosen = sources[: len(heads)]
        if not chosen:
            return Gathered()
        found, notes = self._compressed(chosen, room - sum(heads))
        parts = [(source, part) for source, part in zip(chosen, found.parts, strict=True) if part.kept]
        made = [self._attachment(source, part, found.scored_by) for source, part in parts]
        # Only protected text can exceed the room; the files that matter least are dropped first.
        while made and sum(self.measure(each.text) for each in made) > room:
            made.pop()
        # Notes about files that were dropped are not needed.
        return Gathered(tuple(made), notes) if made else Gathered()

    def whole(self, source: SourceFile) -> Attachment:
        """Return a file as a whole, which the user may have shortened."""

        text, title = framed_whole(source), escaped(source.path)
        cut = FileShortener(source, self.question, self.measure) if len(source.lines) >= _FEWEST_LINES else None
        return Attachment(BlockKind.FILE, title, source.path, text, text, Place.KEPT, "it fits", shorter=cut)

    def _compressed(self, sources: tuple[SourceFile, ...], budget: int) -> tuple[Compression, tuple[str, ...]]:
        files = [(escaped(source.path), source.text) for source in sources]
        notes: tuple[str, ...] = ()
        # Opening a scorer and measuring it takes seconds too.
        self.progress(Choosing(len(files), PARSING))
        try:
            scorer, seconds, notes = self._scorer_in_time(sum(self.measure(text) for _, text in files), budget)
            found = shorten(
                files,
                self.question,
                budget,
                self.measure,
                scorer,
                lambda: self.should_stop() or self.scorer.skipped(),
                progress=lambda phase, share: self.progress(
                    Choosing(len(files), phase, share, seconds if scorer else None)
                ),
                seconds=seconds,
            )
        except (EngineError, UserError) as error:
            notes = (*notes, FAILED.format(reason=error))
            found = shorten(files, self.question, budget, self.measure)
        finally:
            self.scorer.release()
        return found, (*notes, *found.notes)

    def _scorer_in_time(self, tokens: int, budget: int) -> "tuple[Scorer | None, float, tuple[str, ...]]":
        """Return the scorer and its seconds, unless scoring takes longer than reading everything would; and notes."""
        scorer = self.scorer.take() if tokens > budget else None
        seconds = self.reading_s(tokens)
        if scorer is None or not seconds:
            return scorer, self.scoring_s, ()
        estimated = estimate(tokens, budget, tokens / seconds, scorer.rate or scorer.measure(), self.scoring_s)
        # Each file's note says that words alone decided.
        return (scorer, estimated.limit_s, (estimated.sentence,)) if estimated.worth else (None, 0.0, ())

    def _head(self, source: SourceFile) -> int:
        count = len(source.lines)
        return self.measure(framed(source.path, "", frame.shortened(count, count))) + _SEAM

    def _attachment(self, source: SourceFile, part: ShortenedDocument, scored_by: str) -> Attachment:
        text, everything = framed_part(source, part), framed_whole(source)
        if not part.dropped:
            # Another question could leave this file less room.
            return replace(self.whole(source), certain=False)
        why = f"{_kept_lines(part)} of {len(source.lines)} lines fit, chosen by {scored_by}"
        return Attachment(
            BlockKind.FILE, escaped(source.path), source.path, text, everything, Place.SHORTENED, why,
            shorter=lambda: text, certain=False,
        )  # fmt: skip


class FileShortener:
    """Shortens one file when the user asks for it: the same every time, by words alone.

    Attributes:
        question: what for.
    """

    def __init__(self, source: SourceFile, question: str, measure: CachedTokenCounter) -> None:
        self.question = question
        self._source, self._measure = source, measure
        self._text: str | None = None

    @classmethod
    def of_attached(cls, attachment: Attachment, question: str, measure: CachedTokenCounter) -> "FileShortener":
        """Return the shortener of a file that was attached whole, from its text in the prompt."""
        text = frame.unframed(attachment.whole)
        return cls(SourceFile(attachment.path, text, 0, 0), question, measure)

    def __call__(self) -> str:
        if self._text is None:
            budget = max(1, int(self._measure(self._source.text) * KEEP))
            found, _ = Shortening(self.question, self._measure)._compressed((self._source,), budget)
            self._text = framed_part(self._source, found.parts[0])
        return self._text


def framed_whole(source: SourceFile) -> str:
    return framed(source.path, source.text, frame.whole(len(source.lines)))


def framed_part(source: SourceFile, part: ShortenedDocument) -> str:
    return framed(source.path, part.text, frame.shortened(_kept_lines(part), len(source.lines)))


def _kept_lines(part: ShortenedDocument) -> int:
    lines: set[int] = set()
    for _, start, length in part.copies:
        first, last = part.document.lines(start, start + length)
        lines.update(range(first, last + 1))
    return len(lines)
