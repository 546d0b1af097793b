"""The turns of a session that are not undone: where their lines are, and what the screen showed of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from laguna_tui.base.events import AgentEvent, Asked, TurnEnd, TurnFinished
from laguna_tui.store.events import FAILED, Content, HistoryMoved, MessageSent, Shown, TurnBegun, TurnEnded
from laguna_tui.store.journal_lines import Line

_ENDS = {end.value: end for end in TurnEnd}


@dataclass(slots=True)
class SentMessages:
    """The messages that the user sent.

    Attributes:
        places: Where each was sent, and the number of its turn, 0 where it has none.
        turns: The numbers of the turns, of which `position` are not undone.
        in_turn: Whether the last turn has not ended.
    """

    places: list[tuple[int, int]] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    position: int = 0
    in_turn: bool = False

    def take(self, line: Line) -> None:
        """Apply an event."""
        match line.event:
            case MessageSent():
                self.places.append((line.start, 0))
                self.in_turn = True
            case TurnBegun(number=number):
                self.turns[self.position :] = [number]
                self.position = len(self.turns)
                if self.places and self.in_turn:
                    self.places[-1] = (self.places[-1][0], number)
            case HistoryMoved(position=position):
                self.position = min(position, len(self.turns))
            case TurnEnded():
                self.in_turn = False
            case _:
                pass

    def shown(self, end: int) -> list[tuple[int, int]]:
        """Return where the lines of each message begin and end whose turn is not undone.

        Args:
            end: The end of the last line.
        """
        done = {0, *self.turns[: self.position]}
        ends = [*(start for start, _ in self.places[1:]), end]
        return [(start, stop) for (start, number), stop in zip(self.places, ends, strict=False) if number in done]


def shown_events(lines: Iterable[Line], content: Content) -> Iterator[Asked | AgentEvent]:
    """Yield what the screen showed. A turn that an error ended appears as stopped, with the error as its detail."""
    for line in lines:
        match line.event:
            case MessageSent(message=message, time=time):
                yield Asked(content.text(message), time)
            case Shown() as shown:
                yield from content.events(shown)
            case TurnEnded(end=end, detail=detail):
                failed = TurnEnd.CANCELLED if end == FAILED else TurnEnd.ANSWERED
                yield TurnFinished(_ENDS.get(end, failed), detail)
            case _:
                pass
