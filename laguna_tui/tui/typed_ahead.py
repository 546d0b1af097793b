"""What is typed into another widget but meant for the input: none of it is lost, and none overtakes another."""

from collections.abc import Callable, Sequence

from textual import events
from textual.widget import Widget

# Seconds until the next check whether more keys are on their way.
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
        focused = self._widget.screen.focused
        if self._widget.message_queue_size or (focused is not None and focused.message_queue_size):
            self._widget.set_timer(_WAIT_S, self._check)
            return
        kept, self._kept = self._kept, []
        self._hand_over(kept)
