"""An answer in a transcript: closed blocks become entries once, the open one is drawn while it streams."""

from collections.abc import Callable, Sequence

from laguna_engine.events import Source
from laguna_tui.tui.markdown.attributed_text import AttributedText, TintSwitch, tinted
from laguna_tui.tui.markdown.flow import CodeFlow, Flows
from laguna_tui.tui.markdown.layout import lay_out
from laguna_tui.tui.markdown.open_block import OpenBlock
from laguna_tui.tui.markdown.splitter import ClosedBlock, Splitter
from laguna_tui.tui.text_lines import TextLine
from laguna_tui.tui.transcript.document import Document
from laguna_tui.tui.transcript.entries import Entry


class AnswerEntry(Entry):
    """One closed block of an answer: converted once, when it was made. `said`: its source, and who proposed it."""

    def __init__(self, source: str, flows: Flows, said: AttributedText, tint: TintSwitch, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self._source = source
        self._said = said
        self._tint = tint
        self.flows = flows
        self.stop = self.code() is not None

    def lay(self, width: int) -> Sequence[TextLine]:
        return lay_out(tinted(self.flows, self._said) if self._tint.on else self.flows, width)

    def source(self) -> str:
        return self._source

    def code(self) -> str | None:
        """The code, when the piece is a code block and nothing else."""
        flow = self.flows[0] if len(self.flows) == 1 else None
        if not isinstance(flow, CodeFlow):
            return None
        return "\n".join("".join(run.text for run in line) for line in flow.lines)


class OpenAnswerEntry(Entry):
    """The open block of an answer."""

    stop = False

    def __init__(self, tail: OpenBlock, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self._tail = tail

    def lay(self, width: int) -> Sequence[TextLine]:
        return self._tail.lines(width)

    def source(self) -> str:
        return ""


class AnswerStream:
    """Appends to a document. `converter` is called once for each block, when it closes."""

    def __init__(self, document: Document, converter: Callable[[str], Flows], tint: TintSwitch) -> None:
        self._document = document
        self._convert = converter
        self._tint = tint
        self._said = AttributedText()
        self._splitter = Splitter()
        self._tail = OpenBlock(self._splitter, self._said, tint)
        self._open: OpenAnswerEntry | None = None
        self._first = True

    def feed(self, text: str, source: Source) -> None:
        """More of the answer, and who proposed it."""
        self._said.add(text, source)
        chunks = self._splitter.feed(text)
        self._take(chunks)
        if not self._splitter.tail.strip():
            return
        if self._open is None:
            self._open = OpenAnswerEntry(self._tail, gap=self._first or self._splitter.tail_gap)
            self._document.append(self._open)
        self._open.changed()

    def finish(self) -> None:
        """The answer ended: whatever is open closes."""
        self._take(self._splitter.finish())
        self._drop()

    def _take(self, chunks: list[ClosedBlock]) -> None:
        if chunks:
            self._drop()
        for chunk in chunks:
            said, gap = self._said.take(chunk.source), chunk.gap or self._first
            self._document.append(AnswerEntry(chunk.source, self._convert(chunk.source), said, self._tint, gap=gap))
            self._first = False

    def _drop(self) -> None:
        if self._open is not None:
            self._document.remove(self._open)
            self._open = None
        self._tail.restart()
