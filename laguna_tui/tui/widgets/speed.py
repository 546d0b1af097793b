"""The speed panel: a strip above the input on small screens, a column beside everything on wide ones."""

from pathlib import Path

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from laguna_tui.events import DraftRound
from laguna_tui.tui.speed import Speed, speed_rows, title
from laguna_tui.tui.speed_column import speed_column
from laguna_tui.tui.status import Part

# A strip is this high; whatever is higher is a column.
STRIP = 6


class SpeedPanel(Widget):
    """Draws the numbers it is given. Hidden, it is given none and costs nothing."""

    BORDER_TITLE = "speed"
    DEFAULT_CSS = Path(__file__).with_name("speed.tcss").read_text(encoding="utf-8")

    speed: reactive[Speed] = reactive(Speed())
    rounds: reactive[tuple[DraftRound, ...]] = reactive(())

    def watch_speed(self, before: Speed, speed: Speed) -> None:
        if title(before) != title(speed):
            # Brackets in a title would be markup; a title is text here.
            self.border_title = title(speed).replace("[", "\\[")

    def render(self) -> Content:
        width, height = self.size
        column = height > STRIP
        rows = speed_column(self.speed, self.rounds, width, height) if column else speed_rows(self.speed, width)
        return Content.assemble(*_lines(rows))


def _lines(rows: list[list[Part]]) -> list[Part]:
    parts: list[Part] = []
    for row in rows:
        parts += [*([("\n", "")] if parts else []), *row]
    return parts
