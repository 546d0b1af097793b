"""The text before the user's first words: a fixed system prompt, and a few facts.

The system prompt never changes in a session, so that its place in the KV cache stays good. What moves (the folder,
the date, git's state, what commands may do here) is in the first user message instead.
"""

import contextlib
import platform
from dataclasses import dataclass
from datetime import date
from importlib import resources
from pathlib import Path

from laguna_tui.base.text import sanitize_line
from laguna_tui.base.units import clipped
from laguna_tui.repo.git import repository

# Longer names are of no use to the model.
_NAME_LIMIT = 80


def system_prompt(name: str) -> str:
    """Return the system prompt of `prompts/NAME.md`, without a newline at its end."""
    return (resources.files(__package__) / "prompts" / f"{name}.md").read_text(encoding="utf-8").rstrip()


def facts(folder: str, today: date, state: repository.GitState | None) -> str:
    """Return what precedes the first question: `[folder NAME · DATE · git BRANCH, N changed]` and an empty line."""
    return f"[{_facts_line(folder, today, state)}]\n\n"


def facts_now(root: Path) -> str:
    """Return the facts about a folder as it is now."""
    return facts(root.name or str(root), date.today(), repository.state(root))


@dataclass(frozen=True, slots=True)
class Environment:
    """Facts for a model that changes code and runs commands; they stand before the first question.

    Attributes:
        folder: The folder's name.
        today: The date.
        git: The repository's state; None without one.
        system: The operating system and the processor.
        shell: The program that runs commands; empty if none are run.
        sandbox: One sentence on what commands can and cannot do; empty if none are run.
        check: The project's own check, empty if it is not known.
    """

    folder: str
    today: date
    git: repository.GitState | None
    system: str
    shell: str = ""
    sandbox: str = ""
    check: str = ""

    @classmethod
    def now(cls, root: Path, *, shell: str = "", sandbox: str = "", check: str = "") -> "Environment":
        """Return the environment of a folder as it is now."""
        return cls(root.name or str(root), date.today(), repository.state(root), system(), shell, sandbox, check)

    @property
    def text(self) -> str:
        """One or more facts a line, and an empty line."""
        lines = [
            _facts_line(self.folder, self.today, self.git),
            " · ".join(_name(each) for each in (self.system, self.shell and f"shell {self.shell}") if each),
            self.sandbox and f"commands: {sanitize_line(self.sandbox)}",
            self.check and f"the project's check: {sanitize_line(self.check)}",
        ]
        return "".join(f"[{line}]\n" for line in lines if line) + "\n"


def system() -> str:
    """Return the operating system and the processor, such as `Debian GNU/Linux 12 (bookworm), x86_64`."""
    name = platform.system()
    with contextlib.suppress(OSError):
        # Tells which packages there are, and how they are installed.
        name = platform.freedesktop_os_release()["PRETTY_NAME"] if name == "Linux" else f"{name} {platform.release()}"
    return f"{name}, {platform.machine()}"


def _facts_line(folder: str, today: date, state: repository.GitState | None) -> str:
    said = [f"folder {_name(folder)}", today.isoformat()]
    if state is not None:
        said.append(f"git {_name(state.branch)}, {state.changed} changed")
    return " · ".join(said)


def _name(text: str) -> str:
    """Return a folder's or branch's name on one line; it comes from the repository and may be anything."""
    shown = sanitize_line(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    return clipped(shown, _NAME_LIMIT)
