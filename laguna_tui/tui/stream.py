"""One answer while it streams: closed blocks become pieces once, the open one is drawn by its tail."""

from collections.abc import Callable

from laguna_engine.events import Source
from laguna_tui.tui.markdown.flow import Flows
from laguna_tui.tui.markdown.split import Chunk, Splitter
from laguna_tui.tui.markdown.tail import Tail
from laguna_tui.tui.markdown.tint import Heat, Said
from laguna_tui.tui.transcript.answer import Answered, Answering
from laguna_tui.tui.transcript.document import Document


class AnswerStream:
    """Appends to a document. `converter` is called once for each block, when it closes."""

    def __init__(self, document: Document, converter: Callable[[str], Flows], heat: Heat) -> None:
        self._document = document
        self._convert = converter
        self._heat = heat
        self._said = Said()
        self._splitter = Splitter()
        self._tail = Tail(self._splitter, self._said, heat)
        self._open: Answering | None = None
        self._first = True

    def feed(self, text: str, source: Source) -> None:
        """More of the answer, and who proposed it."""
        self._said.add(text, source)
        chunks = self._splitter.feed(text)
        self._take(chunks)
        if not self._splitter.tail.strip():
            return
        if self._open is None:
            self._open = Answering(self._tail, gap=self._first or self._splitter.tail_gap)
            self._document.append(self._open)
        self._open.changed()

    def finish(self) -> None:
        """The answer ended: whatever is open closes."""
        self._take(self._splitter.finish())
        self._drop()

    def _take(self, chunks: list[Chunk]) -> None:
        if chunks:
            self._drop()
        for chunk in chunks:
            said, gap = self._said.take(chunk.source), chunk.gap or self._first
            self._document.append(Answered(chunk.source, self._convert(chunk.source), said, self._heat, gap=gap))
            self._first = False

    def _drop(self) -> None:
        if self._open is not None:
            self._document.remove(self._open)
            self._open = None
        self._tail.restart()
