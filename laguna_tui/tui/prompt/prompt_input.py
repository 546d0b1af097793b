"""The input: multi-line, with history on the arrow keys and completion of slash commands and mentions."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location, Selection

from laguna_tui.base.text import JOINER, NON_JOINER, sanitize, sanitize_line
from laguna_tui.context.blocks import Completion
from laguna_tui.context.mentions import NAME_CHARS
from laguna_tui.tui.key_bar import KeyHint
from laguna_tui.tui.keys import OwnKeys
from laguna_tui.tui.prompt.completion_list import QUOTE, CompletionList
from laguna_tui.tui.prompt.input_history import InputHistory
from laguna_tui.tui.prompt.pasted_texts import PastedTexts
from laguna_tui.tui.prompt.vim import Vim, VimChange, VimMode
from laguna_tui.tui.slash_commands import Command, find, search, similar
from laguna_tui.tui.text_lines import StyledText
from laguna_tui.tui.typed_text import COMMANDS_CLASS

# Textual's name of Shift+Enter in xterm's modifyOtherKeys mode.
_SHIFT_ENTER = "shift+\r"
# Cells of the lower border that no text may cover.
_CORNERS = 6
# The name of a slash command.
_NAME = re.compile(r"/[A-Za-z_-]*")
# A mention's name with the @ and a quote.
_MENTION_CHARS = NAME_CHARS + 2
_CHOOSING = (KeyHint("choose", "up down"), KeyHint("take", "complete"), KeyHint("close", "stop"))
_AT_PASTED = (
    KeyHint("send", "send"),
    KeyHint("show the text", "complete"),
    KeyHint("remove it", typed="Backspace"),
)
# What vim's keys mean that type no character.
_VIM_KEYS = {"backspace": "h", "delete": "x", "left": "h", "right": "l"}
_EMPTY = (
    KeyHint("file", typed="@"),
    KeyHint("commands", typed="/"),
    KeyHint("shell", typed="!"),
    KeyHint("transcript", "complete"),
)


class PromptInput(TextArea):
    """The input. Pasted text is sanitised, because it is shown before it is sent."""

    DEFAULT_CSS = Path(__file__).with_name("prompt_input.tcss").read_text(encoding="utf-8")
    COMPONENT_CLASSES: ClassVar[set[str]] = {"prompt-input--pasted"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter", "send", "Send; while the model works, into its next step; empty: skip the scorer", id="input.send"
        ),
        Binding("ctrl+enter", "send_later", "Send when the answer is done; also /queue", id="input.send_later"),
        Binding("shift+enter,alt+enter,ctrl+j", "newline", "New line", id="input.newline"),
        Binding("up", "up", "Line above, or the previous message", id="input.up"),
        Binding("down", "down", "Line below, or the next message", id="input.down"),
        Binding("tab", "complete", "Complete, expand a pasted text, else move the focus up", id="input.complete"),
        Binding("shift+tab", "next_mode", "The next mode: ask, accept-edits, plan, auto", id="input.next_mode"),
        Binding("ctrl+underscore", "undo", "Undo what was typed", id="input.undo"),
        Binding("end", "end", "End of the line, then follow the answer", id="input.end"),
    ]

    class Sent(Message):
        """Posted when the text is sent. `later`: only when the answer is done."""

        def __init__(self, text: str, *, later: bool = False) -> None:
            super().__init__()
            self.text, self.later = text, later

    class SentEmpty(Message):
        """Posted when there is no text to send."""

    class Edge(Message):
        """Posted when a key moves up or down from the empty input and there is no message to recall."""

        def __init__(self, *, up: bool) -> None:
            super().__init__()
            self.up = up

    class NextMode(Message):
        """Posted to change to the next mode."""

    class Untypable(Message):
        """Posted when a chosen name has control characters and cannot be inserted. `label` is sanitised."""

        def __init__(self, label: str) -> None:
            super().__init__()
            self.label = label

    # Whether the text was last changed by typing, not by recalling or clearing it.
    by_hand = False
    # What the arrow keys lead to from the empty input, in a word or two; mostly empty.
    above = ""

    def __init__(
        self,
        history: InputHistory,
        *,
        placeholder: str,
        keys: OwnKeys,
        id: str | None = None,  # noqa: A002
    ) -> None:
        # Before the first selection.
        self._pasted = PastedTexts()
        self.vim: Vim | None = None
        self._title = ""
        super().__init__(id=id, soft_wrap=True, placeholder=Content(placeholder), highlight_cursor_line=False)
        self.past = history
        self.completions = CompletionList()
        self.touched_at = 0.0
        self._below: Callable[[int], StyledText] | None = None
        self.keys = keys
        self._own_keys = {
            key: binding.action
            for binding in self.BINDINGS
            if isinstance(binding, Binding)
            for key in keys.of(binding).split(",")
        }
        if "shift+enter" in self._own_keys:
            self._own_keys[_SHIFT_ENTER] = self._own_keys["shift+enter"]
        self.cursor_blink = False

    @property
    def cursor_index(self) -> int:
        """Number of characters before the cursor."""
        return len(self.document.get_text_range((0, 0), self.cursor_location))

    @property
    def may_mention(self) -> bool:
        """Whether the cursor may be in a mention: an @ is near before it, in the same line. Cheap in any text."""
        row, column = self.cursor_location
        return "@" in self.document.get_line(row)[max(0, column - _MENTION_CHARS) : column]

    @property
    def is_naming_command(self) -> bool:
        """Whether the name of a slash command is being typed."""
        if self.has_commands or not self.by_hand or self.document.line_count > 1:
            return False
        return _NAME.fullmatch(self.document.get_line(0)) is not None

    @property
    def message(self) -> str:
        """The text with what was pasted in place of its labels."""
        return self._pasted.expand(self.text)

    def load_text(self, text: str) -> None:
        self.by_hand = False
        self.completions.close()
        super().load_text(text)

    def edit(self, edit: Edit) -> EditResult:
        self.by_hand = True
        # A label is inserted and deleted as a whole.
        start, end = sorted((edit.from_location, edit.to_location))
        if start == end:
            edit.from_location = edit.to_location = self._outside_labels(start)
        else:
            edit.from_location = self._outside_labels(start, before=True)
            edit.to_location = self._outside_labels(end)
        result = super().edit(edit)
        if self.is_naming_command:
            self._offer_commands()
        return result

    def _outside_labels(self, at: Location, *, before: bool = False) -> Location:
        """Return the end of the label of a pasted text that a location is in, or its start; else the location."""
        row, column = at
        line = self.document.get_line(row) if row < self.document.line_count else ""
        for start, end in self._pasted.spans(line):
            if start < column < end:
                return row, start if before else end
        return at

    def validate_selection(self, selection: Selection) -> Selection:
        """Let the cursor jump over the labels of pasted texts."""
        back = selection.end < self.selection.end
        end = self._outside_labels(selection.end, before=back)
        return Selection.cursor(end) if selection.is_empty else Selection(selection.start, end)

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        style = self.get_component_rich_style("prompt-input--pasted")
        for start, end in self._pasted.spans(line.plain):
            line.stylize(style, start, end)
        return line

    @property
    def label_at_cursor(self) -> tuple[int, int] | None:
        """Where the label of a pasted text that the cursor touches begins and ends in its line."""
        row, column = self.cursor_location
        spans = self._pasted.spans(self.document.get_line(row))
        return next((span for span in spans if column in span), None)

    def _offer_commands(self) -> None:
        def offered(name: str, command: Command) -> Completion:
            keys = self.keys.shown(command.binding)
            return Completion(0, f"{name} ", name, f"{command.summary}{f' · {keys}' if keys else ''}")

        found = search(self.text)
        title = "" if found else "Did you mean one of these? "
        self.completions.offer([offered(*each) for each in found or similar(self.text)], title)

    def say_below(self, say: Callable[[int], StyledText] | None) -> None:
        """Show text in the lower border; `say` returns it for a number of cells. None clears it."""
        if say is None and self._below is None:
            return
        self._below = say
        parts = [say(self.outer_size.width - _CORNERS)] if say is not None else []
        self.border_subtitle = Content.assemble(*parts)

    def key_hints(self) -> Sequence[KeyHint]:
        """Return what the keys do with what is in the input now."""
        if self.completions.is_open:
            return (KeyHint("run", "send"), *_CHOOSING) if self.is_naming_command else _CHOOSING
        if self.has_commands:
            return (KeyHint("insert", typed="i"), KeyHint("send", "send"))
        if self.label_at_cursor is not None:
            return _AT_PASTED
        if self.text:
            return (KeyHint("send", "send"), KeyHint("new line", "newline"))
        above = [KeyHint(self.above, "down" if self.past.entries else "up down")] if self.above else []
        older = [KeyHint("earlier", "up")] if self.past.entries else []
        return (*above, *older, *_EMPTY)

    def on_resize(self) -> None:
        self.say_below(self._below)

    def on_blur(self) -> None:
        self.completions.close()

    def replace_text(self, text: str) -> None:
        """Replace the text and move the cursor to its end."""
        self.load_text(self._pasted.collapse_known(text))
        self.move_cursor(self.document.end)

    def action_send_later(self) -> None:
        """Post the text for when the answer is done, and clear the input."""
        self.action_send(later=True)

    def action_send(self, *, later: bool = False) -> None:
        text = self.message.strip()
        if not text:
            self.post_message(self.SentEmpty())
            return
        self.past.add(text)
        self.load_text("")
        if self.vim is not None:
            self.use_vim(True)
        self.post_message(self.Sent(text, later=later))

    def action_newline(self) -> None:
        self._replace_via_keyboard("\n", *self.selection)

    def action_up(self) -> None:
        if self.wrapped_document.location_to_offset(self.cursor_location).y > 0:
            self.action_cursor_up()
        elif (older := self.past.older(self.message)) is not None:
            self.replace_text(older)
        elif not self.text:
            self.post_message(self.Edge(up=True))

    def action_down(self) -> None:
        if self.wrapped_document.location_to_offset(self.cursor_location).y < self.wrapped_document.height - 1:
            self.action_cursor_down()
        elif (newer := self.past.newer()) is not None:
            self.replace_text(newer)
        elif not self.text:
            self.post_message(self.Edge(up=False))

    def action_complete(self) -> None:
        label = self.label_at_cursor
        if label is None:
            # To the edit panel if it is open, else to the transcript.
            self.screen.focus_previous()
            return
        row, (start, end) = self.cursor_location[0], label
        pasted = self._pasted.text_of(self.document.get_line(row)[start:end])
        self._replace_via_keyboard(pasted, (row, start), (row, end))

    def take(self, completion: Completion) -> None:
        """Complete the mention or the command before the cursor."""
        self.completions.close()
        if sanitize_line(completion.insert) != completion.insert:
            self.post_message(self.Untypable(sanitize_line(completion.label)))
            return
        before = self.text[: completion.start]
        start = before.count("\n"), len(before) - before.rfind("\n") - 1
        self._replace_via_keyboard(completion.insert, start, self.cursor_location)
        # After a folder the list opens again with its contents; after anything else the mention is complete.
        self.by_hand = completion.insert.rstrip(QUOTE).endswith("/")

    def _steer(self, key: str) -> bool:
        """Offer a key to the open list of completions. Returns whether it was handled."""
        completions = self.completions
        if not completions.found:
            return False
        cursor = self.cursor_index
        if not completions.still_fits(self.text, cursor):
            completions.close()
            return False
        if key == "enter" and self.is_naming_command:
            return self._choose_command(completions.chosen)
        # Enter sends if the completion is already there word for word, or if it is a folder and the highlight was not
        # moved; an open quote must still be closed.
        typed = self.text[completions.chosen.start : cursor]
        whole_folder = typed.endswith("/") and QUOTE not in typed and completions.at == 0
        incomplete = typed != completions.chosen.insert.rstrip() and not whole_folder
        match key:
            case "up" | "down":
                completions.move(1 if key == "down" else -1)
            case "escape":
                completions.close()
            case "tab" | "enter" if incomplete or key == "tab":
                self.take(completions.chosen)
            case _:
                return False
        return True

    def _choose_command(self, chosen: Completion) -> bool:
        """Run the highlighted command if its name was begun or chosen with the arrow keys, else complete it."""
        command = find(chosen.label)
        is_meant = chosen.label.startswith(self.text.strip().lower()) or self.completions.at > 0
        if command is None or command.needs or not is_meant:
            self.take(chosen)
        else:
            self.replace_text(chosen.label)
            self.action_send()
        return True

    def action_next_mode(self) -> None:
        self.post_message(self.NextMode())

    def action_end(self) -> None:
        """Move to the end of the line; if already there, follow the answer."""
        if self.cursor_at_end_of_line:
            self.post_message(self.EndPressed())
        else:
            self.action_cursor_line_end()

    class EndPressed(Message):
        """Posted when End is pressed at the end of a line."""

    async def _on_key(self, event: events.Key) -> None:
        self.touched_at = event.time
        # Bindings run in the app's queue, ahead of letters that still wait in ours: text typed by a program or very
        # fast would be sent without its end. So our own keys are handled here, in order.
        action = self._own_keys.get(event.key)
        if self._vim_key(event) or self._steer(event.key):
            event.stop()
            event.prevent_default()
        elif action is not None:
            event.stop()
            event.prevent_default()
            getattr(self, f"action_{action}")()
        elif event.character in (JOINER, NON_JOINER):
            # Textual inserts only printable characters; emoji arrive as their parts, and Persian keyboards have a key.
            event.stop()
            event.prevent_default()
            self._replace_via_keyboard(event.character, *self.selection)

    def use_vim(self, on: bool) -> None:
        """Turn vim's keys on or off."""
        self.vim = Vim() if on else None
        self.show_title()

    def show_title(self, title: str | None = None) -> None:
        """Show what the line is in the upper border, or else vim's mode. title: None for the one before."""
        self._title = self._title if title is None else title
        self.border_title = self._title or (self.vim.mode.value if self.vim is not None else "")
        # Keys are commands and must not be joined to a paste.
        self.set_class(self.has_commands, COMMANDS_CLASS)

    @property
    def has_commands(self) -> bool:
        """Whether letters are vim's commands."""
        return self.vim is not None and self.vim.mode is not VimMode.INSERT

    def _vim_key(self, event: events.Key) -> bool:
        """Offer a key to vim. Returns whether it was handled."""
        vim = self.vim
        if vim is None:
            return False
        inserting = vim.mode is VimMode.INSERT
        if event.key == "escape":
            if self.completions.is_open or not (inserting or vim.is_pending):
                return False
            change: VimChange | None = vim.escape(self.text, self.cursor_index)
        elif inserting:
            return False
        elif event.key == "ctrl+r":
            change = VimChange(0, action="redo")
        else:
            key = _VIM_KEYS.get(event.key) or (event.character if event.is_printable else None)
            if key is None:
                return False
            change = vim.key(key, self.text, self.cursor_index)
        if change is not None:
            self._apply(change)
        self.show_title()
        return True

    def _apply(self, change: VimChange) -> None:
        if change.action:
            getattr(self, f"action_{change.action}")()
        elif change.selects:
            self.selection = Selection(self._location(change.start), self._location(change.end))
        else:
            if change.text is not None:
                self.history.checkpoint()
                self._replace_via_keyboard(change.text, self._location(change.start), self._location(change.end))
            self.move_cursor(self._location(change.cursor))

    def _location(self, index: int) -> Location:
        before = self.text[:index]
        return before.count("\n"), index - before.rfind("\n") - 1

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.touched_at = event.time
        self.put(event.text)

    def put(self, text: str) -> None:
        """Sanitise text and insert it at the cursor, as if it were typed; a long one as its label."""
        text = self._pasted.collapse(sanitize(text.replace("\r\n", "\n").replace("\r", "\n")))
        self._replace_via_keyboard(text, *self.selection)
        # The input has its new height after the refresh.
        self.call_after_refresh(self.scroll_cursor_visible)
