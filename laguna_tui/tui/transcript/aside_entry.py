"""A side question and its answer, beside a bar, because they are not part of the conversation."""

from collections.abc import Sequence

from laguna_tui.tui.markdown.flow import Flows
from laguna_tui.tui.markdown.layout import MAX_PROSE, lay_out
from laguna_tui.tui.markdown.markdown_parser import to_flows
from laguna_tui.tui.markdown.splitter import Splitter
from laguna_tui.tui.text_lines import BLANK, TextLine, TextRun, wrap
from laguna_tui.tui.transcript.entries import Entry

_BAR = TextRun("┊ ", "muted")
_NOTE = "Not part of the conversation: the model does not know of it afterwards."


class AsideEntry(Entry):
    """A side question and what is answered so far. All texts are sanitised."""

    of_turn = False

    def __init__(self, question: str) -> None:
        super().__init__()
        self.question = question
        self._answer = ""
        self._blocks: list[tuple[Flows, bool]] | None = None

    def extend(self, text: str) -> None:
        """Append text of the answer."""
        self._answer += text
        self.changed()

    def finish(self) -> None:
        """End the answer."""
        splitter = Splitter()
        closed = [*splitter.feed(self._answer.strip()), *splitter.finish()]
        self._blocks = [(to_flows(block.source), block.gap) for block in closed]
        self.changed()

    def mark(self) -> TextRun:
        return TextRun("? ", "muted")

    def lay(self, width: int) -> Sequence[TextLine]:
        room = min(width, MAX_PROSE) - len(_BAR.text)
        rows = [*wrap((TextRun(self.question, "muted em"),), room)]
        if self._blocks is None:
            rows += wrap((TextRun(self._answer.strip()),), room)
        for flows, gap in self._blocks or ():
            rows += [*([BLANK] if gap else []), *lay_out(flows, room)]
        rows += wrap((TextRun(_NOTE, "muted"),), room) if self._blocks else ()
        return [row._replace(runs=(_BAR, *row.runs), lead=row.lead + len(_BAR.text)) for row in rows]

    def source(self) -> str:
        return self._answer.strip()
