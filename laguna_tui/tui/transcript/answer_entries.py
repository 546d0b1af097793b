"""Entries of an answer: closed blocks are converted once, the open block is redrawn while it streams."""

from collections.abc import Callable, Sequence

from laguna_engine.events import Source
from laguna_tui.tui.markdown.attributed_text import AttributedText, TintSwitch, tinted
from laguna_tui.tui.markdown.flow import CodeFlow, Flows
from laguna_tui.tui.markdown.layout import lay_out
from laguna_tui.tui.markdown.open_block import OpenBlock
from laguna_tui.tui.markdown.splitter import ClosedBlock, Splitter
from laguna_tui.tui.text_lines import TextLine, plain
from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.entries import Entry


class AnswerEntry(Entry):
    """A closed Markdown block of an answer.

    Attributes:
        flows: the block as it is laid out.
    """

    def __init__(self, source: str, flows: Flows, attributed: AttributedText, tint: TintSwitch, *, gap: bool) -> None:
        """Hold a converted block; `attributed` is its source with the drafter of each part."""
        super().__init__(gap=gap)
        self._source = source
        self._attributed = attributed
        self._tint = tint
        self.flows = flows
        self.stop = self.code() is not None

    def lay(self, width: int) -> Sequence[TextLine]:
        return lay_out(tinted(self.flows, self._attributed) if self._tint.on else self.flows, width)

    def source(self) -> str:
        return self._source

    def code(self) -> str | None:
        """Return the code, if the entry is a single code block."""
        flow = self.flows[0] if len(self.flows) == 1 else None
        if not isinstance(flow, CodeFlow):
            return None
        return "\n".join(map(plain, flow.lines))


class OpenAnswerEntry(Entry):
    """The block of an answer that is still streaming."""

    stop, streams = False, True

    def __init__(self, tail: OpenBlock, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self._tail = tail

    def lay(self, width: int) -> Sequence[TextLine]:
        return self._tail.lines(width)

    def source(self) -> str:
        return ""


class AnswerStream:
    """Appends an answer to a document while it streams. `converter` is called once per block, when it closes."""

    def __init__(self, document: TranscriptDocument, converter: Callable[[str], Flows], tint: TintSwitch) -> None:
        self._document = document
        self._convert = converter
        self._tint = tint
        self._attributed = AttributedText()
        self._splitter = Splitter()
        self._tail = OpenBlock(self._splitter, self._attributed, tint)
        self._open: OpenAnswerEntry | None = None
        self._first = True

    def feed(self, text: str, source: Source) -> None:
        """Append text of the answer, proposed by `source`."""
        self._attributed.add(text, source)
        self._append(self._splitter.feed(text))
        if not self._splitter.tail.strip():
            return
        if self._open is None:
            self._open = OpenAnswerEntry(self._tail, gap=self._first or self._splitter.tail_gap)
            self._document.append(self._open)
        self._open.changed()

    def finish(self) -> None:
        """Close the open block at the end of the answer."""
        self._append(self._splitter.finish())
        self._remove_open()

    def _append(self, blocks: list[ClosedBlock]) -> None:
        if blocks:
            self._remove_open()
        for block in blocks:
            attributed, gap = self._attributed.take(block.source), block.gap or self._first
            flows = self._convert(block.source)
            self._document.append(AnswerEntry(block.source, flows, attributed, self._tint, gap=gap))
            self._first = False

    def _remove_open(self) -> None:
        if self._open is not None:
            self._document.remove(self._open)
            self._open = None
        self._tail.restart()
