"""The row above the input: queued messages, commands, notes, downloads, the tint's legend, and a link to the end."""

from collections.abc import Sequence

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from laguna_tui.tui.drafter_colours import Legend
from laguna_tui.tui.key_bar import bound_keys
from laguna_tui.tui.slash_commands import Command
from laguna_tui.tui.status_bar import Bar
from laguna_tui.tui.text_lines import MUTED, StyledText, cells, crop


class HintBar(Bar):
    """One row between transcript and input. The first of these that is set shows on the left.

    Attributes:
        count: number of the highlighted completion and of all, while the list of completions is open.
        title: a sentence about the completions; mostly empty.
        command: the slash command whose argument is being typed.
        queued: messages that wait for the session.
        notes: notes about the message being typed.
        download: progress of the download.
        legend: legend of the tinted answer.
        following: whether the transcript follows its end; if not, a link to the end shows on the right.
    """

    following: reactive[bool] = reactive(True)
    queued: reactive[tuple[str, ...]] = reactive(())
    count: reactive[str] = reactive("")
    title: reactive[str] = reactive("")
    command: reactive[Command | None] = reactive(None)
    legend: reactive[Legend | None] = reactive(None)
    download: reactive[str] = reactive("")
    notes: reactive[tuple[str, ...]] = reactive(())

    class FollowClicked(Message):
        """Posted when the link to the end is clicked."""

    def render(self) -> Content:
        end = bound_keys(self.screen, "end") or bound_keys(self.screen, "follow")
        right = "" if self.following else f"↓ follow ({end})"
        left = self._left(self.size.width - cells(right) - 4)
        used = sum(cells(text) for text, _ in left)
        spare = " " * max(0, self.size.width - used - cells(right) - 2)
        return Content.assemble((" ", MUTED), *left, (spare, MUTED), (right, "$accent"), (" ", MUTED))

    def _left(self, room: int) -> list[StyledText]:
        if self.count:
            return [(self.title, "$warning"), (self.count, MUTED)]
        if self.command is not None:
            usage = self.command.usage
            return [(usage, "$primary"), (crop(f"  {self.command.summary}", room - cells(usage)), MUTED)]
        if self.queued:
            return [("queued ", "$accent"), (_first(self.queued, room - 7), MUTED)]
        if self.notes:
            return [(_first(self.notes, room), "$warning")]
        if self.download:
            return [(crop(self.download, room), "$accent")]
        return self.legend.parts(room) if self.legend is not None else []

    def on_click(self) -> None:
        if not self.following:
            self.post_message(self.FollowClicked())


def _first(texts: Sequence[str], room: int) -> str:
    """Return the first text on one line, and the number of others."""
    more = f"  (+{len(texts) - 1})" if len(texts) > 1 else ""
    return crop(" ".join(texts[0].split()), room - cells(more)) + more
