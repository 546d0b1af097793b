"""What `make demo` shows is right: its questions, as the Makefile has them, asked about this repository as it is.

The right answers are read off the syntax trees, by other means than the tools'. No name that is asked about stands in
this file: it would be one of the tests that use it.
"""

import ast
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from laguna_tui.cli.main import main

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
CODE, TESTS = ("assets", "engine", "laguna_tui", "packaging"), ("tests",)
CALLERS, TESTED, OUTLINED = 4, 3, 9
"""Lines that are told before "and N more."."""


def demo_questions() -> list[str]:
    found = re.search(r"^DEMO := ((?:.*\\\n)*.*)$", MAKEFILE, re.M)
    assert found
    return shlex.split(found[1].replace("\\\n", ""))


def trees(parts: Sequence[str]) -> Iterator[tuple[str, ast.Module]]:
    """By path, in its order."""
    paths = sorted(p.relative_to(ROOT).as_posix() for part in parts for p in (ROOT / part).rglob("*.py"))
    return ((path, ast.parse((ROOT / path).read_text(encoding="utf-8"))) for path in paths)


def definition(name: str) -> tuple[str, ast.stmt]:
    """Where the one function or class of that name is."""
    found = [(path, node) for path, tree in trees(CODE) for node in defined(tree.body) if node.name == name]
    assert len(found) == 1
    return found[0]


def defined(body: Sequence[ast.stmt]) -> list[ast.FunctionDef | ast.ClassDef]:
    return [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def users(name: str, parts: Sequence[str]) -> list[str]:
    """`user path:line` of each function that mentions the name, where it does so first."""
    first: dict[tuple[str, str], int] = {}
    for path, tree in trees(parts):
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        for node in ast.walk(tree):
            line = node.lineno if isinstance(node, ast.Name) and node.id == name else 0
            around = [f for f in functions if f.lineno <= line <= (f.end_lineno or 0)]
            if around:
                user = max(around, key=lambda f: f.lineno).name
                first[path, user] = min(line, first.get((path, user), line))
    places = sorted((path, line, user) for (path, user), line in first.items())
    return [f"{user} {path}:{line}" for path, line, user in places]


def numbered(items: Sequence[str]) -> list[str]:
    return [f"{number}. `{item}`" for number, item in enumerate(items, 1)]


def place(name: str) -> list[str]:
    path, node = definition(name)
    line = (ROOT / path).read_text(encoding="utf-8").splitlines()[node.lineno - 1]
    return ["Defined here:", f"1. `{name} {path}:{node.lineno}` `{line}`"]


def callers(name: str) -> list[str]:
    return ["Used here:", *numbered(users(name, CODE)[:CALLERS])]


def covering(name: str) -> list[str]:
    return ["Tested here:", *numbered(users(name, TESTS)[:TESTED])]


def contents(path: str) -> list[str]:
    text = (ROOT / path).read_text("utf-8")
    heads = text.splitlines()
    names = [f"{node.name} {path}:{node.lineno}` `{heads[node.lineno - 1]}" for node in defined(ast.parse(text).body)]
    return [f"`{path}` defines:", *numbered(names[:OUTLINED])]


RIGHT: dict[str, Callable[[str], list[str]]] = {
    r"where is (\w+) defined\?": place,
    r"who calls (\w+)\?": callers,
    r"which tests cover (\w+)\?": covering,
    r"what is in (\S+)\?": contents,
}
"""What is asked, and how the first lines of the answer come about."""


@pytest.fixture(autouse=True)
def _one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "laguna-tui").mkdir()
    (tmp_path / "laguna-tui" / "config.toml").write_text("threads = 1\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def test_the_demo_shows_four_different_skills():
    assert len(demo_questions()) == len(RIGHT)
    assert all(re.fullmatch(asked, question) for asked, question in zip(RIGHT, demo_questions(), strict=True))


@pytest.mark.parametrize(("asked", "question"), list(zip(RIGHT, demo_questions(), strict=False)))
def test_the_demo_is_told_right(asked: str, question: str, capsys: pytest.CaptureFixture[str]):
    found = re.fullmatch(asked, question)
    assert found
    right = RIGHT[asked](found[1])
    assert main(["ask", "--folder", str(ROOT), question]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[: len(right)] == right
    assert re.fullmatch(r"(and (\d+ )?more\.)?", "\n".join(said[len(right) :]))
