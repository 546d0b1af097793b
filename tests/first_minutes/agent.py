"""The real app with a scripted model in place of a large one: `python -m tests.first_minutes.agent SCRIPT FOLDER`.

Tools, approvals, sandbox and undo are real; only the model's words are given.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from laguna_tui.base.settings import Settings
from laguna_tui.models.model_setup import ModelSetup
from laguna_tui.tui.app import LagunaApp
from laguna_tui.tui.tui_settings import TuiSettings
from tests.scripted_model import Turn, call, say, scripted_session, think

FRAME = "laguna_tui/context/frame.py"

PLAN = """\
## Plan

1. Move `sanitize_line` to a module of its own.
2. Change the imports of its users.
3. Run the tests of both folders.
"""


CHECKS = "test_rounding.py"
TESTS = """\
import unittest


class Rounding(unittest.TestCase):
    def test_halves_go_to_the_even_number(self):
        self.assertEqual(round(2.5), 2)

    def test_digits(self):
        self.assertEqual(round(2.675, 1), 2.7)
"""
"""Tests that need nothing that the sandbox hides."""


def tidied(folder: Path) -> Sequence[Turn]:
    """Return an edit with two hunks: a comment at both ends of a file."""
    lines = (folder / FRAME).read_text(encoding="utf-8").rstrip("\n").split("\n")[30:]
    new = ["# Tidied at the top.", *lines, "# Tidied at the end."]
    return [
        say(think("Two comments are missing."), call("read", path=FRAME)),
        say("I add two comments.", call("edit", path=FRAME, old="\n".join(lines), new="\n".join(new))),
        "Both places are tidied.",
    ]


def script(name: str, folder: Path) -> Sequence[Turn]:
    """Return what the model says."""
    if name == "hunks":
        return tidied(folder)
    return {
        "tests": [
            say("I run them.", call("shell", cmd=f"python3 -m unittest -v {Path(CHECKS).stem}")),
            lambda seen: "The tests pass." if '"exit_code": 0' in seen.result else "The tests fail; see the output.",
        ],
        "danger": [say("I remove the build folders.", call("shell", cmd="rm -rf build dist")), "They are gone."],
        "plan": [say(think("First a plan."), PLAN), "Done."],
    }[name]


def main() -> None:
    """Run the app until it is left."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    if name == "tests":
        (folder / CHECKS).write_text(TESTS, encoding="utf-8")
    session = scripted_session(folder, list(script(name, folder)), context=32_768)
    state = Path(os.environ["XDG_STATE_HOME"]) / "laguna-tui"
    sys.exit(LagunaApp(session, TuiSettings(state), ModelSetup(Settings())).run_to_the_end())


if __name__ == "__main__":
    main()
