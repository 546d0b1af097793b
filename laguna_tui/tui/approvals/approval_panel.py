"""The panel that asks: for permission, or about a plan. A diff or a long command itself is in the transcript.

A key meant for the input must never answer. So the panel answers only while it has the focus, and only to keys pressed
after the question could be read; anything else that is typed goes to the input.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from laguna_tui.tui.approvals.question import (
    ALLOWING,
    STOP,
    Choice,
    PlacedChoice,
    Question,
    choice_at,
    choice_parts,
    lay_choices,
    lay_facts,
)
from laguna_tui.tui.key_bar import KeyHint
from laguna_tui.tui.modal import notify
from laguna_tui.tui.text_lines import StyledText, crop_front
from laguna_tui.tui.typed_text import HandOver, TypedAhead

#: Seconds; a key pressed earlier was meant for something else.
REACTION_S = 0.4
# Cells of the border, corners and blanks beside a title.
_CORNERS = 6
# Of the screen's rows; the request and the input need the others.
_SHARE = 0.5
_READABLE_CELLS = 16
_TOO_SMALL = "The terminal is too small to show the whole question. Enlarge it, or press n to decline."
_ANSWERS = frozenset({"y", "a", "n", "m", "e", "w", "escape"})
FRAME = 4
"""Cells of the border and the padding on both sides."""


class ApprovalPanel(Widget, can_focus=True):
    """Shown while something waits for the user's answer. Its texts are sanitised."""

    DEFAULT_CSS = Path(__file__).with_name("approval_panel.tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "choose('y')", "Yes, this once"),
        Binding("a", "choose('a')", "Always: add the rule that is shown"),
        Binding("n", "choose('n')", "No, continue without it"),
        Binding("h", "choose('h')", "Hunk by hunk: y or n for each, a or d for all that are left"),
        Binding("left", "choose('left')", "Previous hunk"),
        Binding("right", "choose('right')", "Next hunk"),
        Binding("m", "choose('m')", "No, with a message to the model"),
        Binding("e", "choose('e')", "Edit it first; the change is shown before it is used"),
        Binding("w", "choose('w')", "Yes, with network (commands only)"),
        Binding("escape", "stop", "No, and stop the answer"),
        Binding("up", "up", "Scroll up a line"),
        Binding("down", "down", "Scroll down a line"),
        Binding("tab", "leave", "To the input; Tab there comes back"),
    ]

    class Chosen(Message):
        """Posted when the user chooses an answer; `key` is that of its `Choice`."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Stopped(Message):
        """Posted to decline and stop the answer."""

    class Scrolled(Message):
        """Posted to scroll the diff by a number of lines."""

        def __init__(self, lines: int) -> None:
            super().__init__()
            self.lines = lines

    class Left(Message):
        """Posted to move the focus to the input."""

    def __init__(self, hand_over: HandOver, *, id: str | None = None) -> None:  # noqa: A002
        """hand_over: takes what is typed here for the input."""
        super().__init__(id=id)
        self.display = False
        self._question: Question | None = None
        self._answers_from = self._focused_at = self._pressed_at = 0.0
        self._typed = TypedAhead(self, hand_over)
        # A second key must not answer the next question.
        self._answered = False
        self._own_keys = {"up": self.action_up, "down": self.action_down, "tab": self.action_leave}

    def ask(self, question: Question) -> None:
        """Show a question. It can be answered once the panel has the focus."""
        self._question, self._answered = question, False
        self.set_class(question.destructive, "-destructive")
        self._restart_reaction_time()
        self._update_title()
        self.screen.add_class("-asking")
        self.display = True
        self.refresh(layout=True)

    def reword(self, question: Question) -> None:
        """Show the same question for another width."""
        self._question = question
        self._update_title()
        self.refresh(layout=True)
        # The key bar shows what Esc does.
        self.refresh_bindings()

    def continue_with(self, question: Question) -> None:
        """Show the next part of a question that the user is answering."""
        self._answered = False
        self.reword(question)

    def listen(self) -> None:
        """Take the focus, and answer to keys again."""
        self._answered = False
        self._restart_reaction_time()
        self.focus()

    def hide(self) -> None:
        """Hide the panel, and give up the focus."""
        if self.has_focus:
            self.action_leave()
        self._question = None
        self.screen.remove_class("-asking")
        self.display = False

    def _restart_reaction_time(self) -> None:
        self._answers_from = time.monotonic() + REACTION_S

    def key_hints(self) -> Sequence[KeyHint]:
        """Return what the keys do besides the answers, which the panel itself shows."""
        escape = [choice for choice in self._choices() if choice.key == STOP.key and choice != STOP]
        back = [KeyHint(choice.label, "stop") for choice in escape]
        return (*back, KeyHint("scroll", "up down"), KeyHint("to the input", "leave"))

    # -- rendering

    def render(self) -> Content:
        question = self._question
        if question is None:
            return Content()
        parts: list[StyledText] = []
        for row in self._rows(question):
            parts += [*([("\n", "")] if parts else []), *row]
        return Content.assemble(*parts)

    def _rows(self, question: Question) -> list[list[StyledText]]:
        choices = self._choice_rows()
        room = max(0, int(self.app.size.height * _SHARE) - len(choices))
        facts = [fact for fact in question.facts if self.has_focus or not fact.detail]
        return [*lay_facts(facts, self.app.size.width - FRAME, room), *map(choice_parts, choices)]

    def _choices(self) -> tuple[Choice, ...]:
        if self._question is None:
            return ()
        return self._question.choices if self.has_focus else self._question.elsewhere

    def _choice_rows(self) -> list[list[PlacedChoice]]:
        return lay_choices(self._choices(), self.app.size.width - FRAME)

    def _update_title(self) -> None:
        if self._question is not None:
            title = self._question.title
            room = self.app.size.width - _CORNERS - len(title)
            self.border_title = Content(title.format(crop_front(self._question.subject, room)))

    def on_resize(self) -> None:
        self._update_title()

    def on_focus(self) -> None:
        self._focused_at = time.monotonic()
        self.refresh(layout=True)

    def on_blur(self) -> None:
        self.refresh(layout=True)

    # -- input

    async def _on_key(self, event: events.Key) -> None:
        # Handled here in the order they were pressed, as in the input; bindings run in a queue of their own.
        if self._typed:
            self._typed.keep(event)
            return
        own = self._own_keys.get(event.key)
        # Also those that this question does not have: who presses one does not write.
        answers = event.key in _ANSWERS or any(choice.key == event.key for choice in self._choices())
        if own is None and not answers and not event.is_printable and event.key != "enter":
            return
        event.stop()
        event.prevent_default()
        early = event.time < self._answers_from
        if event.is_printable and event.character and (not answers or early):
            self._typed.keep(event)
        elif own is not None:
            own()
        elif answers:
            self._choose(event.key)

    def _on_paste(self, event: events.Paste) -> None:
        self._typed.keep(event)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._pressed_at = event.time

    def on_click(self, event: events.Click) -> None:
        """Answer with the clicked choice, unless the click has just given the panel the focus."""
        offset = event.get_content_offset(self)
        rows = self._choice_rows()
        # The button may be held for long: what counts is when it was pressed.
        early = self._pressed_at < self._focused_at + REACTION_S
        if early or offset is None:
            return
        index = offset.y - (self.content_size.height - len(rows))
        if index >= 0 and (key := choice_at(rows[index], offset.x)):
            self._choose(key)

    def _choose(self, key: str) -> None:
        if key == "escape":
            self.action_stop()
        elif key == "tab":
            self.action_leave()
        else:
            self.action_choose(key)

    def action_choose(self, key: str) -> None:
        if self._answered or not any(choice.key == key for choice in self._choices()):
            return
        if key in ALLOWING and not self._is_visible():
            notify(self.app, _TOO_SMALL, "warning")
            return
        self._answered = True
        self.post_message(self.Chosen(key))

    def _is_visible(self) -> bool:
        """Return whether the whole question can be read, down to its end."""
        if self._question is None or self.content_size.width < _READABLE_CELLS:
            return False
        placed = self.screen.find_widget(self)
        return placed.visible_region == placed.region and self.content_size.height >= len(self._rows(self._question))

    def action_stop(self) -> None:
        self.post_message(self.Stopped())

    def action_up(self) -> None:
        self.post_message(self.Scrolled(-1))

    def action_down(self) -> None:
        self.post_message(self.Scrolled(1))

    def action_leave(self) -> None:
        self.post_message(self.Left())
