"""A prompt scorer: a small model scores texts for a query, in time linear in the number of tokens.

Each text is followed by a copy of the query, alone in its own block of rows (`scorer_windows`). It yields two scores:
the attention of the query's last tokens to the text (SpecPrefill, arXiv 2502.02789; PFlash), and the gain in the
query's log-probability from the text (LongCodeZip, arXiv 2510.00446). The copies are the price of the second one: a
text of n tokens costs n plus the query's tokens and 2.

Attention is the largest q·k before the softmax. On the bundled scorer's held-out cases it ranks as well as scores
standardised per head, which would make a text's score depend on the others, and better than the weights after the
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

from laguna_engine.compress.scorer_file import SMALLEST_WINDOW
from laguna_engine.compress.scorer_graph import ScorerModel
from laguna_engine.compress.scorer_windows import BASE, Query, Window, pack
from laguna_engine.compress.scores import Scores
from laguna_engine.errors import RequestError, Stopped
from laguna_engine.ggml.device import Device
from laguna_engine.worker import EngineWorker

WINDOW = 4096
"""Default tokens of a window."""

MAX_QUERY_TOKENS = 64
"""Tokens of the query that are used, its last ones: the question is at the end, and every text pays for them."""

_QUERY_SHARE = 4
"""The query takes at most one part in four of a window."""

_NOTHING = -1
"""Text index of the block that holds the query alone."""


class Scorer:
    """An open scorer; every method may be called from any thread, one call at a time.

    Attributes:
        tokens: tokens of the texts scored so far, without the copies of the query.
        rate: such tokens per second in the last call of `score` or `measure`, 0.0 before the first.
    """

    def __init__(self, thread: EngineWorker, model: ScorerModel) -> None:
        """Take ownership of both; use `open`."""
        self.tokens, self.rate = 0, 0.0
        self._thread, self._model = thread, model
        self._lock = threading.Lock()
        self._current: threading.Event | None = None

    @classmethod
    def open(
        cls, path: Path, *, device: Device | None = None, threads: int = 0, window: int = WINDOW, layers: int = 0
    ) -> Self:
        """Check the file, of the qwen3 architecture, and load it.

        Args:
            path: the GGUF file.
            device: where to compute; None for the CPU.
            threads: CPU threads; 0 for the physical cores.
            window: most tokens that attend to each other.
            layers: layers to run, 0 for all; with fewer there is attention but no gain.

        Raises:
            ModelFileError: the file is not a scorer.
            GraphError: the device cannot run it.
            RequestError: the window or the number of layers is out of range.
        """
        if window < SMALLEST_WINDOW:
            raise RequestError(f"a window of {window} tokens holds no text; give at least {SMALLEST_WINDOW}")
        thread = EngineWorker()
        opened: list[ScorerModel] = []
        try:
            thread.call(lambda: opened.append(ScorerModel.open(path, device, threads, window, layers)))
            return cls(thread, opened[0])
        except BaseException:
            # Ctrl-C interrupts the wait, not the loading.
            thread.stop(lambda: _close_all(opened))
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def nbytes(self) -> int:
        return self._model.nbytes

    def count(self, text: str) -> int:
        return len(self._thread.call(lambda: self._model.vocab.tokenize(text, special=False)))

    def measure(self) -> float:
        """Measure the rate on one window of made-up tokens, before there is a text to score; sets `rate`."""
        return self._thread.call(self._measure)

    def score(
        self,
        texts: Sequence[str],
        query: str,
        should_stop: Callable[[], bool] = lambda: False,
        progress: Callable[[float], None] = lambda _: None,
    ) -> list[Scores]:
        """Return one `Scores` per text. A text longer than a window is split, and its best piece counts.

        Args:
            texts: the texts to score.
            query: the question.
            should_stop: polled before each window, on the scorer's thread.
            progress: called with the finished share, 0 to 1, on the scorer's thread.

        Raises:
            RequestError: the query is empty.
            Stopped: `should_stop` returned True.
            EngineClosed: the scorer is closed.
        """
        abandoned = threading.Event()
        job = partial(self._job, abandoned, texts, query, should_stop, progress)
        try:
            return self._thread.call(job)
        except BaseException:
            # Ctrl-C interrupts the wait; the computation must end soon too.
            with self._lock:
                abandoned.set()
                if self._current is abandoned:
                    self._model.stop.set()
            raise

    def interrupt(self) -> None:
        """End the running window, on the CPU at once; its call raises `Stopped`. Any thread, also a signal handler.

        What is called later is not affected, so whoever has more to score has to be told not to by `should_stop`.
        """
        self._model.stop.set()

    def close(self) -> None:
        """Wait for the running call, then free everything. Idempotent."""
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
        piece_attention, log_probs = self._run(pieces, asked, should_stop, progress)
        count = sum(len(tokens) for _, tokens in pieces)
        self.tokens += count
        self.rate = count / (time.perf_counter() - start)
        return _pooled(len(texts), [text for text, _ in pieces], piece_attention, log_probs)

    def _measure(self) -> float:
        start = time.perf_counter()
        room = min(BASE, self._model.window)
        made_up = np.arange(room) % self._model.vocab.size
        query = Query(tuple(made_up[: min(MAX_QUERY_TOKENS, room // _QUERY_SHARE)].tolist()), 0)
        pieces = [made_up[: room - query.length([0]) + 1].tolist()]
        self._model.run(Window(room, query, pieces))
        self.rate = len(pieces[0]) / (time.perf_counter() - start)
        return self.rate

    def _query(self, text: str) -> Query:
        tokens = self._model.vocab.tokenize(text, special=False)
        if not tokens:
            raise RequestError("there is no query to score texts for; ask something")
        return Query(tuple(tokens[-min(MAX_QUERY_TOKENS, self._model.window // _QUERY_SHARE) :]), self._model.newline)

    def _pieces(self, texts: Sequence[str], query: Query) -> list[tuple[int, list[int]]]:
        """Return (text index, tokens) of all pieces; the first one is empty."""
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
        """Return attention [pieces, layers, heads] and mean log-probabilities [pieces], NaN without all layers."""
        model = self._model
        piece_attention = np.empty((len(pieces), model.layers, model.file.heads), np.float32)
        log_probs = np.full(len(pieces), np.nan, np.float32)
        plan = pack([query.length(tokens) for _, tokens in pieces], model.window)
        rows, done = sum(size for size, _ in plan), 0
        for size, members in plan:
            if should_stop():
                raise Stopped("scoring was stopped; ask again for scores")
            attention, query_log_probs = model.run(Window(size, query, [pieces[member][1] for member in members]))
            piece_attention[members] = np.moveaxis(attention, 2, 0)
            if query_log_probs is not None:
                log_probs[members] = query_log_probs.mean(1)
            done += size
            progress(done / rows)
        return piece_attention, log_probs


def _close_all(models: Sequence[ScorerModel]) -> None:
    for model in models:
        model.close()


def _pooled(
    count: int, owners: Sequence[int], piece_attention: NDArray[np.float32], log_probs: NDArray[np.float32]
) -> list[Scores]:
    """Return the scores of texts from those of their pieces; the first piece is the query alone."""
    attention, gain = np.full(count, -np.inf), np.full(count, -np.inf)
    gains = np.nan_to_num(log_probs - log_probs[0])
    for owner, piece, more in zip(owners[1:], piece_attention[1:], gains[1:], strict=True):
        attention[owner] = max(attention[owner], piece.max())
        gain[owner] = max(gain[owner], more)
    return [Scores(float(a), float(g)) for a, g in zip(attention, gain, strict=True)]
