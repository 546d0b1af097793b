"""Write the README's table of what is asked about by deciding each case: `python packaging/readme_permissions.py`.

A test compares the two, so that the README cannot drift.
"""

from pathlib import Path

from laguna_tui.agent.permissions.modes import Effect
from laguna_tui.agent.permissions.policy import Permissions
from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.paths import FolderIdentity
from laguna_tui.base.permission_request import CallProposal, CommandProposal, Mode, PermissionRequest

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- permissions: made by packaging/readme_permissions.py -->\n", "<!-- /permissions -->"
_ROOT = Path("/shop")
_RULE = "shell(pytest …)"


def _change(path: str, asks_because: str = "", kind: ChangeKind = ChangeKind.EDIT) -> PermissionRequest:
    identity = FolderIdentity(0, 0)
    proposal = ChangeProposal(path, "", "", 1, (), "", _ROOT, b"", b"", identity, asks_because=asks_because, kind=kind)
    return PermissionRequest("delete" if kind is ChangeKind.DELETE else "edit", proposal)


def _command(text: str, always_asks: str = "") -> PermissionRequest:
    return PermissionRequest("shell", CommandProposal(text, _ROOT, 120.0), always_asks=always_asks)


# What is done, what holds commands, and the request; a text is a path to read.
_CASES: list[tuple[str, str, str | PermissionRequest]] = [
    ("read a file", "", "cart.py"),
    ("read a file with secrets", "", ".env"),
    ("change a file", "", _change("cart.py")),
    ("delete a file", "", _change("cart.py", kind=ChangeKind.DELETE)),
    ("change a file that programs obey or run", "", _change(".envrc.d", asks_because="shells run what it says")),
    ("change a file with secrets", "", _change(".env")),
    ("run a command", "holds", _command("make")),
    ("run a command", "none", _command("make")),
    ("run a command that a rule allows", "holds", _command("pytest")),
    ("run a command that a rule allows", "none", _command("pytest")),
    ("run a command that the sandbox cannot hold", "holds", _command("pytest", always_asks="it adds hooks")),
    ("run a command that names a file with secrets", "holds", _command("cat .env")),
    ("call a tool that is not laguna-tui's", "", PermissionRequest("tickets__close", CallProposal("close(3)"))),
]


def permissions_table() -> str:
    """What happens in each mode, with somebody to ask and without, as Markdown."""
    lines = [
        f"| the model wants to | sandbox | asked by | {' | '.join(f'`{mode.value}`' for mode in Mode)} |",
        f"|---|---|---|{'---|' * len(Mode)}",
    ]
    for what, sandbox, request in _CASES:
        by_mode = {headless: [_effect(request, mode, sandbox, headless) for mode in Mode] for headless in (False, True)}
        if by_mode[False] == by_mode[True]:
            lines.append(_row(what, sandbox, "", by_mode[False]))
        else:
            lines.append(_row(what, sandbox, "you", by_mode[False]))
            lines.append(_row(what, sandbox, "nobody", by_mode[True]))
    return "\n".join(lines) + "\n"


def _effect(request: str | PermissionRequest, mode: Mode, sandbox: str, headless: bool) -> Effect:
    here = Permissions(_ROOT, mode=mode, allow=[_RULE], sandboxed=lambda: sandbox == "holds", headless=headless)
    if isinstance(request, str):
        return Effect.DENY if here.readable(request) else Effect.ALLOW
    return here.decide(request).effect


def _row(what: str, sandbox: str, asked: str, effects: list[Effect]) -> str:
    return f"| {what} | {sandbox} | {asked} | {' | '.join(effect.value for effect in effects)} |"


def updated(text: str) -> str:
    """The README's text with today's table between its two marks."""
    before, rest = text.split(BEGIN, 1)
    return before + BEGIN + "\n" + permissions_table() + "\n" + END + rest.split(END, 1)[1]


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")
