"""The answer in a transcript: its closed blocks, and the one that is still open."""

from collections.abc import Sequence

from laguna_tui.tui.markdown.flow import Code, Flows, Line
from laguna_tui.tui.markdown.layout import lay_out
from laguna_tui.tui.markdown.tail import Tail
from laguna_tui.tui.markdown.tint import Heat, Said, tinted
from laguna_tui.tui.transcript.pieces import Piece


class Answered(Piece):
    """One closed block of an answer: converted once, when it was made. `said`: its source, and who proposed it."""

    def __init__(self, source: str, flows: Flows, said: Said, heat: Heat, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self._source = source
        self._said = said
        self._heat = heat
        self.flows = flows
        self.stop = self.code() is not None

    def lay(self, width: int) -> Sequence[Line]:
        return lay_out(tinted(self.flows, self._said) if self._heat.on else self.flows, width)

    def source(self) -> str:
        return self._source

    def code(self) -> str | None:
        """The code, when the piece is a code block and nothing else."""
        flow = self.flows[0] if len(self.flows) == 1 else None
        if not isinstance(flow, Code):
            return None
        return "\n".join("".join(run.text for run in line) for line in flow.lines)


class Answering(Piece):
    """The open block of an answer."""

    stop = False

    def __init__(self, tail: Tail, *, gap: bool) -> None:
        super().__init__(gap=gap)
        self._tail = tail

    def lay(self, width: int) -> Sequence[Line]:
        return self._tail.lines(width)

    def source(self) -> str:
        return ""
