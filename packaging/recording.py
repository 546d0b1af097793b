"""Records the README's tour from the real app: `python packaging/recording.py`, after `make run`.

The app runs in a terminal of its own (a pty and pyte), in a clone of this repository, and the bundled model answers;
only the key presses are scripted. What it shows becomes an animated SVG without scripts, which GitHub plays: every row
that is ever shown is drawn once, a frame is a list of rows, and a style sheet moves the strip of frames.
"""

import argparse
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from pathlib import Path

import pexpect
import pyte
from pyte.screens import Char

TOP = Path(__file__).resolve().parents[1]
TARGET = TOP / "assets/screenshots/tour.svg"
COLUMNS, ROWS = 100, 28
CELL_WIDTH, CELL_HEIGHT, BASELINE = 8.4, 18, 14
"""Of a cell, in pixels, with text of 14 pixels."""
FOREGROUND, BACKGROUND = "#d8dee9", "#121212"

TYPING_S, FRAME_S = 0.06, 0.08
"""Between two keys; the shortest time that a frame is shown."""
WAIT_S = 0.6
"""The longest that the film waits for the app. A model on a slow machine takes longer; that is cut."""
SETTLED_S, SLOWEST_S = 1.5, 90.0
"""How long nothing changes when the app is done, and when it is given up."""

ESCAPE, SHIFT_TAB, F1, F2, F9 = "\x1b", "\x1b[Z", "\x1bOP", "\x1bOQ", "\x1b[20~"
BACKSPACE = "\x7f"
TOUR: Sequence[tuple[str, float]] = (
    ("", 5.0),
    ("where is StreamParser defined?\r", 7.0),
    ("who calls sanitize_line?\r", 7.0),
    ("which tests cover safe_context?\r", 7.0),
    ("rename find_symbols to symbols_called in laguna_tui/repo/search/symbol_search.py\r", 10.0),
    ("y", 7.0),
    ("/undo\r", 6.0),
    ("/", 5.0),
    (BACKSPACE, 1.5),
    (SHIFT_TAB, 3.0),
    (F9, 9.0),
    (ESCAPE, 1.5),
    (F2, 9.0),
    (ESCAPE, 1.5),
    (F1, 7.0),
    (ESCAPE, 3.0),
)
"""What is typed, and for how many seconds its result is shown."""
_PRIVATE = re.compile(rb"\x1b\[[<>=][\d;]*[A-Za-z]")
"""Sequences that pyte takes for others."""
_BUSY, _WAITS = "◌", "waiting for you"
"""What the app shows while it works, and while it waits for an answer."""

Run = tuple[str, str, str, bool, bool, bool]
"""Text with its foreground, background, and whether it is bold, italic, underlined."""
Row = tuple[Run, ...]


@dataclass(slots=True)
class Film:
    """Frames, each the rows of a screen, and the seconds for which they are shown."""

    frames: list[tuple[Row, ...]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, frame: tuple[Row, ...], seconds: float) -> None:
        """Add a frame; one that is the same as the last is shown longer."""
        if self.frames and (self.frames[-1] == frame or self.seconds[-1] < FRAME_S):
            if self.frames[-1] != frame:
                self.frames[-1] = frame
            self.seconds[-1] += seconds
        else:
            self.frames.append(frame)
            self.seconds.append(seconds)


class Recorder:
    """Plays the tour in a terminal and films it."""

    def __init__(self, command: str, arguments: list[str], folder: Path, environment: dict[str, str]) -> None:
        self.film = Film()
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._child = pexpect.spawn(
            command, arguments, cwd=str(folder), env=environment, dimensions=(ROWS, COLUMNS), timeout=SLOWEST_S
        )

    def play(self, keys: str, shown_s: float) -> None:
        """Press the keys, wait until nothing changes any more, and show the result."""
        for key in [keys] if keys.startswith("\x1b") else keys:
            self._child.send(key)
            self._watch(TYPING_S)
            self.film.add(rows(self._screen), TYPING_S)
        last, deadline = time.monotonic(), time.monotonic() + SLOWEST_S
        # A cursor that blinks shows nothing new.
        seen = {rows(self._screen)}
        while (self._busy or time.monotonic() - last < SETTLED_S) and time.monotonic() < deadline:
            self._watch(FRAME_S)
            if (shown := rows(self._screen)) not in seen:
                seen.add(shown)
                self.film.add(shown, min(time.monotonic() - last, WAIT_S))
                last = time.monotonic()
        self.film.add(rows(self._screen), shown_s)

    def close(self) -> None:
        """End the app."""
        self._child.close(force=True)

    @property
    def _busy(self) -> bool:
        shown = "\n".join(self._screen.display)
        return not shown.strip() or (_BUSY in shown and _WAITS not in shown)

    def _watch(self, seconds: float) -> None:
        """Read what the app writes for some time."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                written = self._child.read_nonblocking(1 << 16, timeout=left)
            except pexpect.TIMEOUT:
                break
            self._stream.feed(_PRIVATE.sub(b"", written))


def rows(screen: pyte.Screen) -> tuple[Row, ...]:
    """Return what a screen shows."""
    lines = ([screen.buffer[y][x] for x in range(screen.columns)] for y in range(screen.lines))
    return tuple(tuple((_text(run), *style) for style, run in groupby(line, key=_style)) for line in map(list, lines))


def _text(run: Iterable[Char]) -> str:
    # The cell after a wide character is empty.
    return "".join(cell.data for cell in run)


def _style(cell: Char) -> tuple[str, str, bool, bool, bool]:
    foreground, background = _colour(cell.fg, FOREGROUND), _colour(cell.bg, BACKGROUND)
    if cell.reverse:
        foreground, background = background, foreground
    return foreground, background, cell.bold, cell.italics, cell.underscore


_NAMED = {"black": "#2e3440", "red": "#bf616a", "green": "#a3be8c", "brown": "#ebcb8b", "blue": "#81a1c1",
          "magenta": "#b48ead", "cyan": "#88c0d0", "white": "#e5e9f0"}  # fmt: skip


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    return _NAMED.get(name.removeprefix("bright"), f"#{name}")


def animated_svg(film: Film) -> str:
    """Return a film as an SVG that plays for ever."""
    width, height = round(COLUMNS * CELL_WIDTH), ROWS * CELL_HEIGHT
    total = sum(film.seconds)
    numbers: dict[Row, int] = {}
    strip, keyframes, begun = [], [], 0.0
    for index, (frame, seconds) in enumerate(zip(film.frames, film.seconds, strict=True)):
        uses = "".join(
            f'<use href="#r{numbers.setdefault(row, len(numbers))}" y="{(index * ROWS + y) * CELL_HEIGHT}"/>'
            for y, row in enumerate(frame)
            if any(_is_seen(run) for run in row)
        )
        strip.append(uses)
        keyframes.append(f"{100 * begun / total:.3f}%{{transform:translateY(-{index * height}px)}}")
        begun += seconds
    styles: dict[str, str] = {}
    drawn = "".join(f'<g id="r{number}">{"".join(_drawn(row, styles))}</g>' for row, number in numbers.items())
    rules = "".join(f".{name}{{{rule}}}" for rule, name in styles.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}">'
        f"<title>A tour of laguna-tui</title><style>text{{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',"
        f"monospace;white-space:pre}}{rules}#film{{animation:film {total:.2f}s step-end infinite}}"
        f"@keyframes film{{{''.join(keyframes)}}}</style>"
        f'<defs>{drawn}</defs><rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>'
        f'<g id="film">{"".join(strip)}</g></svg>\n'
    )


def _is_seen(run: Run) -> bool:
    return bool(run[0].strip()) or run[2] != BACKGROUND


def _drawn(row: Row, styles: dict[str, str]) -> Iterator[str]:
    """Yield a row's rectangles and texts; adds to the classes of styles."""
    column = 0
    for text, foreground, background, bold, italic, underlined in row:
        if background != BACKGROUND:
            name = styles.setdefault(f"fill:{background}", f"s{len(styles)}")
            at = _at(column, len(text))
            yield f'<rect class="{name}" {at[0]} width="{at[1]}" height="{CELL_HEIGHT}"/>'
        if words := text.strip():
            more = (bold and ";font-weight:bold", italic and ";font-style:italic")
            rule = f"fill:{foreground}{''.join(filter(None, more))}{';text-decoration:underline' if underlined else ''}"
            name = styles.setdefault(rule, f"s{len(styles)}")
            at = _at(column + len(text) - len(text.lstrip()), len(words))
            written = escape(words, quote=False)
            yield f'<text class="{name}" {at[0]} y="{BASELINE}" textLength="{at[1]}">{written}</text>'
        column += len(text)


def _at(column: int, columns: int) -> tuple[str, str]:
    """Return the attribute of a column's place, and the width of some columns."""
    return f'x="{column * CELL_WIDTH:.6g}"', f"{columns * CELL_WIDTH:.6g}"


def record() -> Film:
    """Play the tour in a clone in a temporary home, so that it shows no path of this machine."""
    with tempfile.TemporaryDirectory() as home:
        clone = Path(home, "laguna-tui")
        subprocess.run(["git", "clone", "--quiet", TOP, clone], check=True)
        environment = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "TERM": "xterm-256color",
                       "COLORTERM": "truecolor"}  # fmt: skip
        program = TOP / ".venv/bin/laguna-tui"
        with closing(Recorder(str(program), ["--theme", "laguna-dark"], clone, environment)) as recorder:
            for keys, shown_s in TOUR:
                recorder.play(keys, shown_s)
    return recorder.film


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    TARGET.write_text(animated_svg(film := record()), encoding="utf-8")
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes, {len(film.frames)} frames, {sum(film.seconds):.0f} s")
