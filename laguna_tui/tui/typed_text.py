"""Text typed faster than it is read, or into another widget than the input that it is meant for.

A terminal without bracketed paste, or a program that types, delivers thousands of keys in one read. Inserted one by
one, each costs a new layout of the whole text, and a Ctrl+C behind them waits for all of these; so a text area inserts
the printable keys of one read at once.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from textual import events
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, TextArea

from laguna_tui.base.text import JOINER, NON_JOINER

COMMANDS_CLASS = "-commands"
"""The class of a text area while its letters are commands."""


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
        edits = isinstance(focused, TextArea | Input) and not focused.has_class(COMMANDS_CLASS)
        return [pasted(self.keys)] if edits else self.keys


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


# Seconds until the first check whether more keys are on their way.
_WAIT_S = 0.02

HandOver = Callable[[Sequence[events.Event]], None]
"""Takes keys and pastes, in order, and moves the focus so that the next ones go to the input without it."""


class TypedAhead:
    """Keeps keys and pastes until no more are on their way to a widget, then hands them over all at once.

    A key goes through the app's queue into that of the widget with the focus. If the focus moved with the first letter,
    those that the widget still has would come to the input after the ones that go there directly.
    """

    def __init__(self, widget: Widget, hand_over: HandOver) -> None:
        self._widget, self._hand_over = widget, hand_over
        self._kept: list[events.Event] = []

    def __bool__(self) -> bool:
        """Return whether something was typed, so that what follows belongs to it whatever it means to the widget."""
        return bool(self._kept)

    def keep(self, event: events.Key | events.Paste) -> None:
        """Keep what was typed or pasted from the widget, for the input."""
        event.stop()
        event.prevent_default()
        if not self._kept:
            self._widget.set_timer(_WAIT_S, self._check)
        # An event that was stopped stays so.
        if isinstance(event, events.Key):
            self._kept.append(events.Key(event.key, event.character))
        else:
            self._kept.append(events.Paste(event.text))

    def _check(self) -> None:
        for widget in (self._widget.screen.focused, self._widget):
            if widget is not None and widget.message_queue_size:
                # Behind what waits there. After a time, a queue could be found full for ever by something that
                # reaches it as often as we look.
                widget.call_later(self._check)
                return
        kept, self._kept = self._kept, []
        self._hand_over(kept)
