"""Files shortened for a question: cut up, scored if there is a scorer, and what matters kept within a budget.

What was cut up and scored is remembered by its contents, so the same files with another budget cost next to nothing.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_engine.compress.compressor import Compression, Scores, SpanScorer, compress
from laguna_engine.compress.document import Document
from laguna_tui.context.documents import document
from laguna_tui.context.remembered import Remembered
from laguna_tui.errors import UserError
from laguna_tui.models.catalogue import load_catalogue
from laguna_tui.models.entry import Kind
from laguna_tui.models.store import Store
from laguna_tui.settings import Settings

if TYPE_CHECKING:
    from laguna_engine.compress.scorer import Scorer

NO_SCORER = "none"
"""What the setting `scorer` says to rank by words alone."""

PARSING, SCORING = "parsing", "scoring"
"""The phases that `progress` reports."""
Progress = Callable[[str, float], None]

_SCORES = 20_000
# A file that is cut up takes about eight bytes for each of its characters.
_REMEMBERED_CHARS = 8 * 1024 * 1024
# Longer texts are not worth their place among what is remembered.
_LONGEST_CHARS = 1024 * 1024
_CUT_UP = Remembered[tuple[str, str, bool], Document](_REMEMBERED_CHARS)


def shorten(
    files: Sequence[tuple[str, str]],
    query: str,
    budget: int,
    measure: Callable[[str], int],
    scorer: "Scorer | None" = None,
    should_stop: Callable[[], bool] = lambda: False,
    protected: Collection[str] = (),
    progress: Progress = lambda phase, share: None,
) -> Compression:
    """What to keep of the files (path, text), in their order, within `budget` tokens to answer `query`.

    Args:
        measure: the tokens of a text. scorer: an open one, or None to rank by words alone.
        should_stop: asked now and then; scoring ends when it says so. protected: paths to keep whole.
        progress: is given what is being done (PARSING, then SCORING if there is a scorer) and which share of it is.
    """
    documents = []
    for number, (path, text) in enumerate(files):
        progress(PARSING, number / len(files))
        documents.append(_document(path, text, path in protected))
    ranks = None if scorer is None else _remembering(scorer, should_stop, lambda share: progress(SCORING, share))
    return compress(documents, query, budget, measure, ranks, should_stop)


def open_scorer(settings: Settings, store: Store | None = None) -> "Scorer | None":
    """The scorer that the settings name, else the first of the catalogue that is on this machine, else None.

    Raises:
        UserError: what the settings name is not here. EngineError: its file is no scorer.
    """
    path = scorer_path(settings, store)
    if path is None:
        return None
    from laguna_engine.compress.scorer import Scorer
    from laguna_engine.llama.options import all_cores_but_one

    return Scorer.open(path, threads=all_cores_but_one() if settings.threads is None else settings.threads)


def scorer_path(settings: Settings, store: Store | None = None) -> Path | None:
    """The file of the scorer to use: downloaded ones come before the one that ships with the app.

    Raises:
        UserError: the settings name a scorer that is not on this machine.
    """
    wanted = settings.scorer
    if wanted == NO_SCORER:
        return None
    scorers = {name: entry for name, entry in load_catalogue().items() if entry.kind is Kind.SCORER}
    shelf = store or Store()
    if wanted is None:
        here = [shelf.path(entry) for entry in scorers.values() if entry.path is None]
        bundled = [entry.path for entry in scorers.values() if entry.path is not None and entry.path.is_file()]
        return next((path for path in [*here, *bundled] if path is not None), None)
    if wanted in scorers:
        path = scorers[wanted].path or shelf.path(scorers[wanted])
        if path is None:
            raise UserError(f"--scorer {wanted}: not on this machine; run: laguna-tui models download {wanted}")
        return path
    file = Path(wanted).expanduser()
    if not file.is_file():
        raise UserError(f"--scorer {wanted}: no such file, and no scorer of the catalogue; give a GGUF, or none")
    return file


def _document(path: str, text: str, protected: bool) -> Document:
    key = path, text, protected
    made = _CUT_UP.get(key)
    if made is None:
        made = document(path, text, protected=protected)
        if len(text) <= _LONGEST_CHARS:
            _CUT_UP.put(key, made, len(text))
    return made


class _Scores:
    """What the last scorer said for the last question, by text."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: tuple[object, str] | None = None
        self._known: dict[str, Scores] = {}

    def known(self, scorer: object, query: str) -> dict[str, Scores]:
        """What is known for this scorer and question; what was known for another is forgotten."""
        with self._lock:
            if self._asked is None or self._asked[0] is not scorer or self._asked[1] != query:
                self._asked, self._known = (scorer, query), {}
            elif len(self._known) > _SCORES:
                self._known = {}
            return self._known


_SCORED = _Scores()


def _remembering(scorer: "Scorer", should_stop: Callable[[], bool], progress: Callable[[float], None]) -> SpanScorer:
    """A scorer that is asked only for what it has not been asked yet."""

    def scores(texts: Sequence[str], query: str) -> Sequence[Scores]:
        known = _SCORED.known(scorer, query)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, scorer.score(new, query, should_stop, progress), strict=True))
        return [known[text] for text in texts]

    return scores
