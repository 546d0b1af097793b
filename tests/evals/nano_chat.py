"""One long chat with the bundled model: `python -m tests.evals.nano_chat PACKAGE==VERSION|FOLDER … [--mixed] [--show]`.

Run by hand; nothing is asserted. Asks one question after the other in one chat, through the session that the screen and
`ask` use, with Nano's own settings. An answer is right when the text that reaches the user is, to its last character,
what the right tool call prints. Packages that Nano was trained on (`assets/nano/recipe/sources.json`) are refused.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from laguna_tui.agent.tools.nano.profile import NANO
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.events import AnswerCorrected, TextDelta, ToolStarted
from laguna_tui.base.settings import Settings
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.session.session import Session
from tests.app.approvers import run_tool
from tests.evals.corpora import HERE, package

QUESTIONS = 30
_SEED = 7
_PART = 10
_DEFINITION = re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+(\w+)", re.MULTILINE)
_WHERE = ("where is {} defined?",)
_MIXED = {
    "defined": ("where is {} defined?", "Where can I find `{}`?", "what does {} take?", "Show me the signature of {}."),
    "used": ("who calls {}?", "Where is `{}` used?"),
    "tested": ("which tests cover {}?", "Is there a test for `{}`?"),
    "file": ("what is in {}?", "What does {} define?"),
}


class Question(NamedTuple):
    """What is asked, and the tool call that answers it."""

    text: str
    tool: str
    arguments: dict[str, str]


def questions(folder: Path, number: int, seed: int, *, mixed: bool) -> Iterator[Question]:
    """`number` questions about definitions, or about everything that Nano looks up, of a folder's Python files."""
    rng = random.Random(seed)
    files = sorted(path for path in folder.rglob("*.py") if path.stat().st_size)
    names = sorted({name for path in files for name in _DEFINITION.findall(path.read_text(errors="replace"))})
    names = [name for name in names if name.isascii() and not name.startswith(("__", "test", "Test"))]
    for name in rng.sample(names, number):
        kind = rng.choice(sorted(_MIXED)) if mixed else "defined"
        wording = rng.choice(_MIXED[kind] if mixed else _WHERE)
        if kind == "file":
            path = rng.choice(files).relative_to(folder).as_posix()
            yield Question(wording.format(path), "find", {"pattern": path})
        else:
            yield Question(wording.format(name), "search", {"list": kind, "pattern": name})


def asked(folder: Path, chat: Sequence[Question], *, show: bool) -> tuple[list[bool], int]:
    """Return which of the questions of one chat were answered rightly, and how many answers the app had to correct."""
    toolbox = Toolbox(NANO, Workspace(folder))
    session = Session(Settings(model="nano", threads=1), folder)
    session.open(lambda progress: None)
    right, corrected = [], 0
    for number, question in enumerate(chat, 1):
        events = list(session.chat.ask(question.text))
        answer = "".join(event.text for event in events if isinstance(event, TextDelta)).strip()
        corrected += any(isinstance(event, AnswerCorrected) for event in events)
        right.append(answer == run_tool(toolbox, question.tool, question.arguments).output)
        if show and not right[-1]:
            calls = [(event.name, event.arguments) for event in events if isinstance(event, ToolStarted)]
            print(f"  {number}. {question.text}\n     {calls} {events[-1]}\n     {answer!r}")
    session.close()
    toolbox.close()
    return right, corrected


def trained() -> frozenset[str]:
    """Return the packages that Nano saw in training or was chosen by."""
    manifest = json.loads((HERE / "assets/nano/recipe/sources.json").read_text(encoding="utf-8"))
    return frozenset(each["name"] for each in manifest["packages"])


def folder_of(name: str) -> Path:
    """Return a folder as it is, or the unpacked source archive of a release."""
    if Path(name).is_dir():
        return Path(name).resolve()
    project, _, version = name.partition("==")
    if project in trained():
        sys.exit(f"Nano was trained on {project}, or chosen by it; name another package")
    found = package(project, version) if version else None
    return found or sys.exit(f"{name}: no such folder or release; write PACKAGE==VERSION")


def main() -> None:
    parser = argparse.ArgumentParser(description=re.sub(r"\s+", " ", __doc__ or ""))
    parser.add_argument("packages", nargs="+", metavar="PACKAGE==VERSION|FOLDER")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="in each chat")
    parser.add_argument("--seeds", type=int, nargs="+", default=[_SEED], help="that questions are drawn with")
    parser.add_argument("--mixed", action="store_true", help="ask for callers, tests and files too")
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    options = parser.parse_args()
    for name in options.packages:
        folder = folder_of(name)
        for seed in options.seeds:
            chat = list(questions(folder, options.questions, seed, mixed=options.mixed))
            right, corrected = asked(folder, chat, show=options.show)
            parts = [sum(right[at : at + _PART]) for at in range(0, len(right), _PART)]
            tens = ", ".join(map(str, parts))
            print(
                f"{name}, seed {seed}: {sum(right)} of {len(right)} right ({tens}), {corrected} corrected", flush=True
            )


if __name__ == "__main__":
    main()
