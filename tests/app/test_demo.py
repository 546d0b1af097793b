"""What `make demo` shows is right: its questions, as the Makefile has them, asked about this repository as it is."""

import ast
import re
import shlex
from pathlib import Path

import pytest

from laguna_tui.cli import main

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
LISTED = 3
"""Names that the model gives before "and more"."""


def demo_questions() -> list[str]:
    found = re.search(r"^DEMO := (.*)$", MAKEFILE, re.M)
    assert found
    return shlex.split(found[1])


def definitions(path: Path) -> dict[str, ast.AST]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}


def place_of(name: str) -> str:
    """`name path:line` of the one definition."""
    paths = [p for part in ("laguna_tui", "engine/laguna_engine") for p in (ROOT / part).rglob("*.py")]
    found = [(p, definitions(p)[name]) for p in paths if name in definitions(p)]
    assert len(found) == 1
    return f"{name} {found[0][0].relative_to(ROOT).as_posix()}:{found[0][1].lineno}"


def signature_of(path: str, name: str) -> str:
    node = definitions(ROOT / path)[name]
    assert isinstance(node, ast.FunctionDef)
    return f"{name}({ast.unparse(node.args)})"


def listed(path: str) -> str:
    names = [f"`{name}`" for name in definitions(ROOT / path)]
    assert len(names) == LISTED
    return f"{names[0]}, {names[1]} and {names[2]}"


@pytest.fixture(autouse=True)
def _one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "laguna-tui").mkdir()
    (tmp_path / "laguna-tui" / "config.toml").write_text("threads = 1\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def test_the_demo_asks_for_a_place_a_signature_and_a_files_contents_and_is_told_right(capsys):
    where, takes, outline = demo_questions()
    right = {
        where: f"Defined here: `{place_of('StreamParser')}`.",
        takes: f"The signature is `{signature_of('laguna_tui/text.py', 'sanitize_line')}`.",
        outline: f"`laguna_tui/text.py` defines {listed('laguna_tui/text.py')}.",
    }
    for question, answer in right.items():
        assert main(["ask", "--folder", str(ROOT), question]) == 0
        assert capsys.readouterr().out.strip() == answer
