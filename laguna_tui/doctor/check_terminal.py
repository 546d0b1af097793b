"""What the terminal can show, going by what it says of itself: a terminal that is asked may never answer."""

from collections.abc import Iterator

from laguna_tui.doctor.finding import Finding, ok, skip, warn
from laguna_tui.doctor.machine import Machine
from laguna_tui.doctor.surroundings import Surroundings

LEAST_COLUMNS, LEAST_ROWS = 80, 24

_ASK = 'use single questions: laguna-tui ask "QUESTION"'
_TMUX = "in ~/.tmux.conf: set -g default-terminal tmux-256color; set -as terminal-features ',*:RGB'"


def check_terminal(machine: Machine, around: Surroundings) -> Iterator[Finding]:
    """Whether the TUI can be drawn, its colours, its letters, and what lies in between."""
    kind = machine.environment.get("TERM", "")
    if kind in ("", "dumb"):
        said = "TERM=dumb" if kind else "TERM is not set"
        yield warn("terminal", f"{said}: the TUI cannot be drawn here", f"start a real terminal, or {_ASK}")
    elif not machine.terminal.interactive:
        yield skip("terminal", "this output goes to a file or a pipe, so its size is not known")
    else:
        yield _size(machine, kind)
    yield _colours(machine, kind, around)
    yield _letters(machine)
    if around.ssh or around.multiplexer:
        yield _between(around)


def _size(machine: Machine, kind: str) -> Finding:
    columns, rows = machine.terminal.columns, machine.terminal.rows
    found = f"{kind}, {columns} x {rows}"
    if columns < LEAST_COLUMNS or rows < LEAST_ROWS:
        return warn("terminal", found, f"make it larger: {LEAST_COLUMNS} x {LEAST_ROWS} shows everything")
    return ok("terminal", found)


def _colours(machine: Machine, kind: str, around: Surroundings) -> Finding:
    environment = machine.environment
    if environment.get("NO_COLOR"):
        return ok("colours", "off, because NO_COLOR is set", "to have them: unset NO_COLOR")
    if kind in ("", "dumb"):
        return skip("colours", "none")
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return ok("colours", "all of them")
    todo = _TMUX if around.multiplexer == "tmux" else "if your terminal has more: export COLORTERM=truecolor"
    if "256color" in kind:
        return ok("colours", "256", todo)
    return warn("colours", f"few, going by TERM={kind}", todo)


def _letters(machine: Machine) -> Finding:
    encoding = machine.terminal.encoding
    if encoding.lower().replace("-", "") == "utf8":
        return ok("letters", "UTF-8")
    return warn("letters", f"{encoding}: lines and signs come out wrong", "set a UTF-8 locale: export LANG=C.UTF-8")


def _between(around: Surroundings) -> Finding:
    names = [*(["SSH"] if around.ssh else []), *([around.multiplexer] if around.multiplexer else [])]
    words = " and ".join(names)
    todo = "for copying through tmux: set -g set-clipboard on" if around.multiplexer == "tmux" else ""
    return ok("session", f"inside {words}; what you copy reaches your clipboard only if the terminal lets it", todo)
