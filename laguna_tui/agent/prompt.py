"""What the model is told before the user's first words: a fixed system prompt, and one line about the folder.

The system prompt never changes in a session, so that its place in the KV cache stays good. What moves (the folder,
the date, git's state) stands in the first user message instead.
"""

from datetime import date
from importlib import resources
from pathlib import Path

from laguna_tui.base.text import sanitize_line
from laguna_tui.repo import git

# Longer names would only push the question away.
_NAME_LIMIT = 80


def system_prompt(name: str) -> str:
    """The system prompt of `prompts/NAME.md`, without a newline at its end."""
    return (resources.files(__package__) / "prompts" / f"{name}.md").read_text(encoding="utf-8").rstrip()


def facts(folder: str, today: date, state: git.GitState | None) -> str:
    """What stands before the first question: `[folder NAME · DATE · git BRANCH, N changed]` and an empty line."""
    said = [f"folder {_name(folder)}", today.isoformat()]
    if state is not None:
        said.append(f"git {_name(state.branch)}, {state.changed} changed")
    return f"[{' · '.join(said)}]\n\n"


def facts_now(root: Path) -> str:
    """What stands before the first question about a folder as it is now."""
    return facts(root.name or str(root), date.today(), git.state(root))


def _name(text: str) -> str:
    """A folder's or branch's name on one line; it comes from the repository and may be anything."""
    shown = sanitize_line(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    return shown if len(shown) <= _NAME_LIMIT else shown[: _NAME_LIMIT - 1] + "…"
