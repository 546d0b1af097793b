"""The app in a real terminal (tmux) of a given size: press keys, wait for words, and keep what the screen shows."""

import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
from rich.color import ColorType
from rich.style import Style
from rich.text import Text

LIMIT_S = 60
"""How long to wait for words on the screen."""

SETTLED_S = 0.7
"""A screen that does not change for this long is finished, unless it shows that something is going on."""

BUSY = "◌"
"""The app's sign for work."""

ASKING = "waiting for you"
"""What it says beside that sign while a question is open."""

LEAVING_S = 20
"""How long the app may take to end when its terminal is closed."""

_CELL_W, _CELL_H, _FONT, _GAP = 8, 18, 13, 24
_INK, _PAPER, _TABLE = "#d0d0d0", "#121212", "#3a3a3a"


class Terminal:
    """A terminal of its own, with one program in it."""

    def __init__(self, command: Sequence[str], folder: Path, size: tuple[int, int], env: Mapping[str, str]) -> None:
        self.width, self.height = size
        self._server = f"first-minutes-{os.getpid()}"
        settings = [part for name, value in env.items() for part in ("-e", f"{name}={value}")]
        shape = ["-x", str(self.width), "-y", str(self.height)]
        self._tmux("-f", "/dev/null", "new-session", "-d", *settings, *shape, "-c", str(folder), *command)
        self._tmux("set-option", "-g", "remain-on-exit", "on")
        self._tmux("set-option", "-g", "status", "off")
        self._tmux("set-option", "-ga", "terminal-overrides", ",*:Tc")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        process = int(self._tmux("display-message", "-p", "#{pane_pid}"))
        self._tmux("kill-server")
        with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
            psutil.Process(process).wait(LEAVING_S)

    def type(self, text: str) -> None:
        """Type the text as it is."""
        self._tmux("send-keys", "-l", text)

    def paste(self, text: str) -> None:
        """Paste the text, as a terminal with bracketed paste does."""
        self._tmux("set-buffer", text)
        self._tmux("paste-buffer", "-p")

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names: `Enter`, `F1`, `C-g`, `Up`."""
        self._tmux("send-keys", *keys)

    def mouse(self, code: int, column: int, row: int, *, up: bool = False) -> None:
        """Send a mouse report in SGR form; columns and rows start at 1."""
        report = f"\x1b[<{code};{column};{row}{'m' if up else 'M'}"
        self._tmux("send-keys", "-H", *(f"{byte:02x}" for byte in report.encode()))

    def text(self) -> str:
        """Return the screen as plain text."""
        return self._tmux("capture-pane", "-p")

    def wait(self, pattern: str) -> None:
        """Wait until the screen shows the pattern; TimeoutError with the screen if it never does."""
        deadline = time.monotonic() + LIMIT_S
        while not re.search(pattern, self.text()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"no {pattern!r} on the screen:\n{self.text()}")
            time.sleep(0.1)

    def settle(self) -> None:
        """Wait until the screen has stopped changing, at most LIMIT_S."""
        deadline, seen, since = time.monotonic() + LIMIT_S, "", time.monotonic()
        while time.monotonic() < deadline and time.monotonic() - since < SETTLED_S:
            now = self.text()
            if now != seen or (BUSY in now and ASKING not in now):
                seen, since = now, time.monotonic()
            time.sleep(0.1)

    def screen(self) -> list[Text]:
        """Return the rows of the screen in their colours."""
        return [Text.from_ansi(line) for line in self._tmux("capture-pane", "-p", "-e").split("\n")[: self.height]]

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._server, *arguments], capture_output=True, encoding="utf-8", check=False
        )
        if done.returncode and arguments[0] != "kill-server":
            raise RuntimeError(f"tmux {arguments[0]}: {done.stderr.strip()}")
        return done.stdout


@dataclass(frozen=True, slots=True)
class Shot:
    """A screen of some size, in cells."""

    width: int
    height: int
    rows: Sequence[Text]


def picture(shots: Sequence[Shot], across: int) -> str:
    """Return the screens as one SVG, side by side where these fit into `across` cells, else below each other."""
    placed: list[str] = []
    x = y = _GAP
    right = bottom = 0
    for shot in shots:
        width, height = shot.width * _CELL_W, shot.height * _CELL_H + 6
        if x > _GAP and x + width > across * _CELL_W + _GAP:
            x, y = _GAP, bottom + _GAP
        drawn = [part for row, line in enumerate(shot.rows) for part in _drawn(line, row)]
        box = f'<rect width="{width}" height="{height}" fill="{_PAPER}"/>'
        placed += [f'<g transform="translate({x} {y})">', box, *drawn, "</g>"]
        right, bottom = max(right, x + width), max(bottom, y + height)
        x += width + _GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right + _GAP} {bottom + _GAP}" '
            f'font-family="Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="{_FONT}" fill="{_INK}">',
            "<style>text{white-space:pre}</style>",
            f'<rect width="100%" height="100%" fill="{_TABLE}"/>',
            *placed,
            "</svg>\n",
        ]
    )


def _drawn(line: Text, row: int) -> list[str]:
    """Return the SVG elements of one row: backgrounds first, then its runs of text."""
    parts: list[str] = []
    boxes: list[str] = []
    column = 0
    for text, style in _runs(line):
        width = Text(text).cell_len
        ink, paper = _colours(style)
        x, y = column * _CELL_W, row * _CELL_H
        if paper != _PAPER:
            boxes.append(f'<rect x="{x}" y="{y}" width="{width * _CELL_W}" height="{_CELL_H}" fill="{paper}"/>')
        words = text.strip()
        if words:
            x += Text(text[: len(text) - len(text.lstrip())]).cell_len * _CELL_W
            bold = ' font-weight="bold"' if style.bold else ""
            colour = f' fill="{ink}"' if ink != _INK else ""
            length = f' textLength="{Text(words).cell_len * _CELL_W}"'
            parts.append(f'<text x="{x}" y="{y + _FONT}"{colour}{bold}{length}>{escape(words)}</text>')
        column += width
    return boxes + parts


def _runs(line: Text) -> list[tuple[str, Style]]:
    """Return stretches of the line in one style."""
    ends = sorted({0, len(line), *(place for span in line.spans for place in (span.start, span.end))})
    runs = []
    for start, end in pairwise(ends):
        styles = [span.style for span in line.spans if span.start <= start and end <= span.end]
        runs.append((line.plain[start:end], sum((s for s in styles if isinstance(s, Style)), Style())))
    return runs


def _colours(style: Style) -> tuple[str, str]:
    """Return foreground and background as #rrggbb."""
    ink, paper = (
        given.get_truecolor().hex if given is not None and given.type is not ColorType.DEFAULT else default
        for given, default in ((style.color, _INK), (style.bgcolor, _PAPER))
    )
    return (paper, ink) if style.reverse else (ink, paper)
