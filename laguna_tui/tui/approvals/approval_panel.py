"""The panel that asks for permission, such as to make an edit. The diff or command itself is in the transcript.

A key meant for the input must never answer. So the panel answers only while it has the focus, and only to keys pressed
after the question could be read; anything else that is typed goes to the input.
"""

import time
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from laguna_tui.base.permission_request import Decision
from laguna_tui.tui.formatting import MUTED, StyledText
from laguna_tui.tui.text_lines import cells, crop_front
from laguna_tui.tui.transcript.edit_entry import RequestEntry

KeyChoice = tuple[str, str]
"""A key and what it does."""
ChoiceForms = tuple[tuple[KeyChoice, ...], ...]
"""The same choices in different lengths, the longest first."""

CHOICES: ChoiceForms = (
    (("y", "yes"), ("n", "no"), ("a", "always in this folder"), ("Esc", "no, and stop")),
    (("y", "yes"), ("n", "no"), ("a", "always"), ("Esc", "stop")),
)
ONCE: ChoiceForms = tuple(tuple(choice for choice in form if choice[0] != "a") for form in CHOICES)
"""Where there is no rule that would allow the same again."""
ELSEWHERE: ChoiceForms = ((("Tab", "to answer"), ("Esc", "no, and stop")), (("Tab", "to answer"), ("Esc", "stop")))
_BETWEEN = "   "


def choice_parts(forms: ChoiceForms, width: int) -> list[StyledText]:
    """The row of choices for a width."""
    parts: list[StyledText] = []
    for key, what in _fitting(forms, width):
        parts += [(_BETWEEN, "")] if parts else []
        parts += [(key, "bold $accent"), (f" {what}", "$foreground")]
    return parts


def choice_at(forms: ChoiceForms, width: int, column: int) -> str:
    """The key of the choice at a column; empty between choices."""
    at = 0
    for key, what in _fitting(forms, width):
        end = at + cells(f"{key} {what}")
        if at <= column < end:
            return key
        at = end + len(_BETWEEN)
    return ""


def _fitting(forms: ChoiceForms, width: int) -> tuple[KeyChoice, ...]:
    rows = {form: cells(_BETWEEN.join(f"{key} {what}" for key, what in form)) for form in forms}
    return next((form for form, wide in rows.items() if wide <= width), forms[-1])


#: Seconds; a key pressed earlier was meant for something else.
REACTION_S = 0.4
_RULE = "a allows {rule}"
# Cells of the border, corners and blanks beside a title.
_CORNERS = 6
_TONES = {"code-inserted": "$success", "code-deleted": "$error", "muted": MUTED}


class EditPanel(Widget, can_focus=True):
    """Shown while something waits for the user's permission. Its texts are sanitised."""

    DEFAULT_CSS = Path(__file__).with_name("edit_panel.tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "yes", "Yes, make this edit"),
        Binding("n", "no", "No, continue without it"),
        Binding("a", "always", "Always: write the rule that is shown"),
        Binding("escape", "stop", "No, and stop the answer"),
        Binding("up", "up", "Scroll up a line"),
        Binding("down", "down", "Scroll down a line"),
        Binding("tab", "leave", "To the input; Tab there comes back"),
    ]

    class Decided(Message):
        """Posted when the user accepts or declines the edit."""

        def __init__(self, decision: Decision) -> None:
            super().__init__()
            self.decision = decision

    class Stopped(Message):
        """Posted to decline the edit and stop the answer."""

    class Scrolled(Message):
        """Posted to scroll the diff by a number of lines."""

        def __init__(self, lines: int) -> None:
            super().__init__()
            self.lines = lines

    class Left(Message):
        """Posted to move the focus to the input.

        Attributes:
            typed: text typed or pasted so far, not sanitised.
        """

        def __init__(self, typed: str = "") -> None:
            super().__init__()
            self.typed = typed

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.display = False
        self._edit: RequestEntry | None = None
        self._answers_from = self._focused_at = 0.0
        # Keys that arrive in one read with a letter for the input are handled before the focus moves.
        self._typing = False
        self._own_keys = {binding.key: binding.action for binding in self.BINDINGS if isinstance(binding, Binding)}

    def ask(self, edit: RequestEntry) -> None:
        """Show the question. It can be answered once the panel has the focus."""
        self._edit = edit
        self._restart_reaction_time()
        self._update_title()
        self.display = True
        self.refresh(layout=True)

    def listen(self) -> None:
        """Take the focus."""
        self._restart_reaction_time()
        self.focus()

    def hide(self) -> None:
        """Hide the panel."""
        self._edit = None
        self.display = False

    def _restart_reaction_time(self) -> None:
        self._answers_from = time.monotonic() + REACTION_S

    # -- rendering

    def render(self) -> Content:
        edit = self._edit
        if edit is None:
            return Content()
        parts: list[StyledText] = [(text, _TONES.get(tone, "")) for text, tone in edit.size()]
        parts += [(f"  {_RULE.format(rule=edit.rule)}", MUTED)] if edit.rule else []
        parts += [("\n", ""), (f"! {edit.warning}\n", "$warning")] if edit.warning else [("\n", "")]
        return Content.assemble(*parts, *choice_parts(self._forms, self.content_size.width))

    @property
    def _forms(self) -> ChoiceForms:
        if not self.has_focus:
            return ELSEWHERE
        return CHOICES if self._edit is not None and self._edit.rule else ONCE

    def _update_title(self) -> None:
        if self._edit is not None:
            title = self._edit.question
            room = self.app.size.width - _CORNERS - len(title)
            self.border_title = Content(title.format(crop_front(self._edit.subject, room)))

    def on_resize(self) -> None:
        self._update_title()

    def on_focus(self) -> None:
        self._focused_at = time.monotonic()
        self.refresh()

    def on_blur(self) -> None:
        self._typing = False
        self.refresh()

    # -- input

    async def _on_key(self, event: events.Key) -> None:
        # Handled here in the order they were pressed, as in the input; bindings run in a queue of their own.
        action = self._own_keys.get(event.key)
        if action is None and not event.is_printable and event.key != "enter":
            return
        event.stop()
        event.prevent_default()
        early = event.time < self._answers_from
        if event.is_printable and event.character and (action is None or early or self._typing):
            self._typing = True
            self.post_message(self.Left(event.character))
        elif action is not None:
            getattr(self, f"action_{action}")()

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.post_message(self.Left(event.text))

    def on_click(self, event: events.Click) -> None:
        """Answer with the clicked choice, unless the click has just given the panel the focus."""
        offset = event.get_content_offset(self)
        early = event.time < self._focused_at + REACTION_S
        if early or offset is None or offset.y != self.content_size.height - 1:
            return
        key = choice_at(self._forms, self.content_size.width, offset.x)
        action = self._own_keys.get(key.lower().replace("esc", "escape"))
        if action is not None:
            getattr(self, f"action_{action}")()

    def action_yes(self) -> None:
        """Make this edit."""
        self._decide(Decision.YES)

    def action_no(self) -> None:
        """Decline this edit; the answer continues."""
        self._decide(Decision.NO)

    def action_always(self) -> None:
        """Make this edit, and do not ask about what its rule allows from now on."""
        if self._edit is not None and self._edit.rule:
            self._decide(Decision.ALWAYS)

    def _decide(self, decision: Decision) -> None:
        if self._edit is not None:
            # A second key must not answer the next question.
            self._edit = None
            self.post_message(self.Decided(decision))

    def action_stop(self) -> None:
        """Decline this edit and stop the answer."""
        self.post_message(self.Stopped())

    def action_up(self) -> None:
        """Scroll up a line."""
        self.post_message(self.Scrolled(-1))

    def action_down(self) -> None:
        """Scroll down a line."""
        self.post_message(self.Scrolled(1))

    def action_leave(self) -> None:
        """Move the focus to the input."""
        self.post_message(self.Left())
