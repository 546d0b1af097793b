"""A prompt scorer: a small model says which texts matter to a query, in time that grows with the number of tokens.

Each text is followed by a copy of the query, alone in its own block of rows (`scorer_windows`). Two signals come out:
where the query's last tokens look (SpecPrefill, arXiv 2502.02789; PFlash), and by how much the text makes the query
likelier (LongCodeZip, arXiv 2510.00446). The copies are the price of the second one: a text of n tokens costs n plus
the query's tokens and 2.

Attention is the largest product before the softmax. On the bundled scorer's held-out cases it ranks as well as products
standardised head by head, which would make a text's score depend on the others, and better than the shares after the
softmax (`assets/nano/recipe/scorer_measure.py`).
"""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from math import ceil
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from laguna_engine.compress.result import Scores
from laguna_engine.compress.scorer_file import SMALLEST_WINDOW
from laguna_engine.compress.scorer_graph import ScorerModel
from laguna_engine.compress.scorer_windows import BASE, Query, Window, pack
from laguna_engine.errors import RequestError, Stopped
from laguna_engine.ggml.device import Device
from laguna_engine.worker import EngineWorker

WINDOW = 4096

QUERY = 64
"""Tokens of the query that are used, its last ones: what is asked stands at the end, and each text pays for them."""

_QUERY_SHARE = 4
"""The query may take one part in four of a window."""

_NOTHING = -1
"""Stands for a block without a text: the query by itself."""


class Scorer:
    """An open scorer; every method may be called from any thread, one call at a time.

    tokens: of texts scored so far, the queries' copies not counted. rate: such tokens a second in the last call of
    `score` or `measure`, 0.0 before there was one.
    """

    def __init__(self, thread: EngineWorker, model: ScorerModel) -> None:
        """What `open` has made; both belong to it from now on."""
        self.tokens, self.rate = 0, 0.0
        self._thread, self._model = thread, model
        self._lock = threading.Lock()
        self._current: threading.Event | None = None

    @classmethod
    def open(
        cls, path: Path, *, device: Device | None = None, threads: int = 0, window: int = WINDOW, layers: int = 0
    ) -> Self:
        """Check the file, of the qwen3 architecture, and load it.

        device: what to compute on, the CPU if None. threads: on the CPU, 0 for the physical cores. window: the most
        tokens that see one another. layers: how many are run, 0 for all; with fewer there is attention and no gain.
        ModelFileError for a file that is no scorer, GraphError if the device cannot run it, RequestError for a window
        or layers that cannot be.
        """
        if window < SMALLEST_WINDOW:
            raise RequestError(f"a window of {window} tokens holds no text; give at least {SMALLEST_WINDOW}")
        thread = EngineWorker()
        opened: list[ScorerModel] = []
        try:
            thread.call(lambda: opened.append(ScorerModel.open(path, device, threads, window, layers)))
            return cls(thread, opened[0])
        except BaseException:
            # Ctrl-C ends the waiting, not the loading.
            thread.stop(lambda: _close_all(opened))
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self._model.nbytes

    def count(self, text: str) -> int:
        """How many tokens the scorer's vocabulary makes of `text`."""
        return len(self._thread.call(lambda: self._model.vocab.tokenize(text, special=False)))

    def measure(self) -> float:
        """The rate before there is a text to score, from one window of made-up tokens; becomes `rate`."""
        return self._thread.call(self._measure)

    def score(
        self,
        texts: Sequence[str],
        query: str,
        should_stop: Callable[[], bool] = lambda: False,
        progress: Callable[[float], None] = lambda _: None,
    ) -> list[Scores]:
        """One `Scores` a text. A text longer than a window is cut, and its best part counts.

        should_stop: asked before each window; `Stopped` is raised once it says so. progress: told the finished share,
        0 to 1. Both are called on the scorer's thread. RequestError for an empty query, EngineClosed after `close`.
        """
        abandoned = threading.Event()
        job = partial(self._job, abandoned, texts, query, should_stop, progress)
        try:
            return self._thread.call(job)
        except BaseException:
            # Ctrl-C ends the waiting; the work shall end too, and soon.
            with self._lock:
                abandoned.set()
                if self._current is abandoned:
                    self._model.stop.set()
            raise

    def close(self) -> None:
        """Wait for what is running, then free everything; harmless when repeated."""
        self._thread.stop(self._model.close)

    def _job(
        self,
        abandoned: threading.Event,
        texts: Sequence[str],
        query: str,
        should_stop: Callable[[], bool],
        progress: Callable[[float], None],
    ) -> list[Scores]:
        with self._lock:
            self._current = abandoned
            self._model.stop.clear()
        try:
            return self._score(texts, query, lambda: abandoned.is_set() or should_stop(), progress)
        finally:
            with self._lock:
                self._current = None

    def _score(
        self, texts: Sequence[str], query: str, should_stop: Callable[[], bool], progress: Callable[[float], None]
    ) -> list[Scores]:
        start = time.perf_counter()
        asked = self._query(query)
        if not texts:
            return []
        pieces = self._pieces(texts, asked)
        looks, likely = self._run(pieces, asked, should_stop, progress)
        count = sum(len(tokens) for _, tokens in pieces)
        self.tokens += count
        self.rate = count / (time.perf_counter() - start)
        return _pooled(len(texts), [text for text, _ in pieces], looks, likely)

    def _measure(self) -> float:
        start = time.perf_counter()
        room = min(BASE, self._model.window)
        made_up = np.arange(room) % self._model.vocab.size
        query = Query(tuple(made_up[: min(QUERY, room // _QUERY_SHARE)].tolist()), 0)
        pieces = [made_up[: room - query.length([0]) + 1].tolist()]
        self._model.run(Window(room, query, pieces))
        self.rate = len(pieces[0]) / (time.perf_counter() - start)
        return self.rate

    def _query(self, text: str) -> Query:
        tokens = self._model.vocab.tokenize(text, special=False)
        if not tokens:
            raise RequestError("there is no query to score texts for; ask something")
        return Query(tuple(tokens[-min(QUERY, self._model.window // _QUERY_SHARE) :]), self._model.newline)

    def _pieces(self, texts: Sequence[str], query: Query) -> list[tuple[int, list[int]]]:
        """(text, tokens) of all pieces; the first one is nothing at all."""
        most = self._model.window - query.length([query.newline]) + 1
        pieces: list[tuple[int, list[int]]] = [(_NOTHING, [])]
        for index, text in enumerate(texts):
            tokens = self._model.vocab.tokenize(text, special=False) or [query.newline]
            size = ceil(len(tokens) / ceil(len(tokens) / most))
            pieces += [(index, tokens[first : first + size]) for first in range(0, len(tokens), size)]
        return pieces

    def _run(
        self,
        pieces: Sequence[tuple[int, list[int]]],
        query: Query,
        should_stop: Callable[[], bool],
        progress: Callable[[float], None],
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Looks [pieces, layers, heads] and mean log-probabilities [pieces], NaN if not all layers are run."""
        model = self._model
        looks = np.empty((len(pieces), model.layers, model.file.heads), np.float32)
        likely = np.full(len(pieces), np.nan, np.float32)
        plan = pack([query.length(tokens) for _, tokens in pieces], model.window)
        rows, done = sum(size for size, _ in plan), 0
        for size, members in plan:
            if should_stop():
                raise Stopped("scoring was stopped; ask again for scores")
            seen, said = model.run(Window(size, query, [pieces[member][1] for member in members]))
            looks[members] = np.moveaxis(seen, 2, 0)
            if said is not None:
                likely[members] = said.mean(1)
            done += size
            progress(done / rows)
        return looks, likely


def _close_all(models: Sequence[ScorerModel]) -> None:
    for model in models:
        model.close()


def _pooled(count: int, owners: Sequence[int], looks: NDArray[np.float32], likely: NDArray[np.float32]) -> list[Scores]:
    """From pieces to texts; the first piece is the query by itself."""
    attention, gain = np.full(count, -np.inf), np.full(count, -np.inf)
    gains = np.nan_to_num(likely - likely[0])
    for owner, look, more in zip(owners[1:], looks[1:], gains[1:], strict=True):
        attention[owner] = max(attention[owner], look.max())
        gain[owner] = max(gain[owner], more)
    return [Scores(float(a), float(g)) for a, g in zip(attention, gain, strict=True)]
