"""Journals of real sessions: a scripted model answers and uses its tools, and the app keeps the session."""

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.app.store.kept_sessions import HOSTILE
from tests.scripted_model import call, say, scripted_session, think

_WORDS = 'the parser reads a line and returns what it found \x1b[2J naïve 日本語 \u202e <b> ``` \\ " \t'.split(" ")
_SAID = ("parser", "line", "returns", "found", "`x = 1`", "\n\n- a list")


def recorded(state: Path, project: Path, seed: int, turns: int = 6) -> Path:
    """Have a session about a small project kept; returns its folder, and the session is closed.

    Args:
        state: The state folder.
        project: Folder of the project, which is created.
        seed: Of what is said and how long it is.
        turns: How many messages are sent.
    """
    chance = random.Random(seed)
    project.mkdir()
    for name in ("one", "two"):
        (project / f"{name}.py").write_text("".join(f"def {name}_{at}():\n    return {at}\n" for at in range(30)))
    script = list(_script(chance, turns))
    with closing(scripted_session(project, script, state=state, mode="accept-edits", context=16_384)) as session:
        session.open(lambda progress: None)
        for number in range(1, turns + 1):
            odd = HOSTILE.encode("utf-8", "replace").decode() if number % 2 == 0 else str(number)
            for _ in session.chat.ask(f"{' '.join(chance.choices(_WORDS, k=chance.randint(1, 20)))} {odd}"):
                pass
        current = session.sessions.current
    assert current is not None
    return state / "sessions" / current.id


def _script(chance: random.Random, turns: int) -> Iterator[Any]:
    for number in range(turns):
        yield say(think(_plain(chance, 12)), call("read", path="one.py"))
        edit = {"path": "two.py", "old": f"return {number}\n", "new": f"return {number + 100}\n"}
        yield say(call("edit", **edit), call("search", pattern="def two"))
        yield say(_plain(chance, chance.randint(5, 60)))


def _plain(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_SAID, k=words))
