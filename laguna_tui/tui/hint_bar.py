"""The row above the input: queued messages, commands, notes, downloads, the tint's legend, and a link to the end."""

from collections.abc import Sequence

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from laguna_tui.tui.drafter_colours import Legend
from laguna_tui.tui.slash_commands import Command
from laguna_tui.tui.status_bar import Bar
from laguna_tui.tui.text_lines import MUTED, StyledText, cells, crop

FOLLOW = "↓ follow (End)"


class HintBar(Bar):
    """One row between transcript and input. The first of these that is set shows on the left.

    Attributes:
        commands: slash commands that match the input.
        queued: messages that wait for the session.
        notes: notes about the message being typed; hidden while `hushed`.
        hushed: whether the mention list is open, which shows more than the notes.
        download: progress of the download.
        legend: legend of the tinted answer.
        following: whether the transcript follows its end; if not, a link to the end shows on the right.
    """

    following: reactive[bool] = reactive(True)
    queued: reactive[tuple[str, ...]] = reactive(())
    commands: reactive[tuple[Command, ...]] = reactive(())
    legend: reactive[Legend | None] = reactive(None)
    download: reactive[str] = reactive("")
    notes: reactive[tuple[str, ...]] = reactive(())
    hushed: reactive[bool] = reactive(False)

    class FollowClicked(Message):
        """Posted when the link to the end is clicked."""

    def render(self) -> Content:
        right = "" if self.following else FOLLOW
        left = self._left(self.size.width - cells(right) - 4)
        used = sum(cells(text) for text, _ in left)
        spare = " " * max(0, self.size.width - used - cells(right) - 2)
        return Content.assemble((" ", MUTED), *left, (spare, MUTED), (right, "$accent"), (" ", MUTED))

    def _left(self, room: int) -> list[StyledText]:
        if self.commands:
            return self._command_parts(room)
        if self.queued:
            return [("queued ", "$accent"), (_first(self.queued, room - 7), MUTED)]
        if self.notes and not self.hushed:
            return [(_first(self.notes, room), "$warning")]
        if self.download:
            return [(crop(self.download, room), "$accent")]
        return self.legend.parts(room) if self.legend is not None else []

    def _command_parts(self, room: int) -> list[StyledText]:
        first = self.commands[0]
        if len(self.commands) == 1:
            return [(first.slash, "$primary"), (crop(f"  {first.summary}", room - cells(first.slash)), MUTED)]
        names = [command.slash for command in self.commands]
        wide = "  ".join(names)
        return [(wide if cells(wide) <= room else crop(" ".join(names), room), "$primary")]

    def on_click(self) -> None:
        if not self.following:
            self.post_message(self.FollowClicked())


def _first(texts: Sequence[str], room: int) -> str:
    """Return the first text on one line, and the number of others."""
    more = f"  (+{len(texts) - 1})" if len(texts) > 1 else ""
    return crop(" ".join(texts[0].split()), room - cells(more)) + more
