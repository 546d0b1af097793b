"""Text typed faster than it is read: the printable keys of one read of the terminal, which a text area inserts at once.

A terminal without bracketed paste, or a program that types, delivers thousands of keys in one read. Inserted one by
one, each costs a new layout of the whole text, and a Ctrl+C behind them waits for all of these.
"""

from collections.abc import Iterable, Iterator, Sequence

from textual import events
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, TextArea

from laguna_tui.base.text import JOINER, NON_JOINER


class TypedText(events.Event, bubble=False):
    """Posted to the app instead of several printable keys that came together.

    Attributes:
        keys: the keys, in order, at least two.
    """

    def __init__(self, keys: Sequence[events.Key]) -> None:
        super().__init__()
        self.keys = tuple(keys)

    def for_widget(self, focused: Widget | None) -> Sequence[events.Event]:
        """Return the events for the widget with the focus: one paste where text is edited, else the keys."""
        return [pasted(self.keys)] if isinstance(focused, TextArea | Input) else self.keys


def pasted(keys: Iterable[events.Key]) -> events.Paste:
    """Return printable keys as one paste."""
    return events.Paste("".join(key.character or "" for key in keys))


def join_keys(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the messages in order, with each run of printable keys as one `TypedText`."""
    run: list[events.Key] = []
    for message in messages:
        if isinstance(message, events.Key) and (message.is_printable or message.character in (JOINER, NON_JOINER)):
            run.append(message)
            continue
        yield from _joined(run)
        run.clear()
        yield message
    yield from _joined(run)


def _joined(run: Sequence[events.Key]) -> Sequence[Message]:
    return [TypedText(run)] if len(run) > 1 else run
