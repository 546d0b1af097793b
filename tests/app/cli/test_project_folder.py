"""The folder that a command is about: gone, or far more than one project."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import too_wide_reason
from laguna_tui.base.settings import Settings
from laguna_tui.context.codebase import Codebase
from laguna_tui.session.session import Session

COMMANDS = [("search", "total"), ("index",), ("map",), ("ask", "where is total?")]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    (home / "project" / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return home


def cli(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """The command line in the current folder; `before`: Python that is run first."""
    program = f"{before}\nimport sys\nfrom laguna_tui.cli.main import main\nsys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_the_home_folder_is_read_only_when_it_was_named(home, monkeypatch, command):
    monkeypatch.chdir(home)
    refused = cli(*command)
    assert refused.returncode == 2
    assert refused.stderr == (
        f"laguna-tui: {home} is your home folder, not one project; "
        f"go to a project's folder, or read all of it: --folder {home}\n"
    )


def test_any_folder_is_read_if_it_was_named(home, monkeypatch):
    monkeypatch.chdir(home)
    found = cli("search", "--folder", str(home), "--symbol", "total")
    assert found.returncode == 0
    assert "project/cart.py:1" in found.stdout


def test_a_parent_of_the_home_folder_is_not_a_project(home):
    assert too_wide_reason(home) == "is your home folder"
    assert too_wide_reason(home.parent) == "holds your home folder"
    assert too_wide_reason(Path("/")) == "holds all folders"
    assert too_wide_reason(home / "project") == ""


@pytest.mark.parametrize("command", [*COMMANDS, ("trust",)], ids=lambda command: command[0])
def test_a_deleted_current_folder_is_reported(tmp_path, command):
    gone = str(tmp_path / "gone")
    leave = f"import os\nos.mkdir({gone!r}); os.chdir({gone!r}); os.rmdir({gone!r})"
    run = cli(*command, before=leave)
    assert run.returncode == 2
    words = "the current folder was deleted; change to another one and try again"
    assert run.stderr == f"laguna-tui: {words}\n"


def test_an_index_that_is_withheld_is_made_when_it_may_be(home, tmp_path):
    codebase = Codebase(home, tmp_path / "indexes")
    try:
        codebase.withheld = "not yet"
        codebase.start()
        assert not codebase.wait(0.2)
        assert not codebase.sync(60)
        assert not os.path.lexists(tmp_path / "indexes")
        codebase.withheld = ""
        codebase.start()
        assert codebase.wait(60)
        assert "project/cart.py" in codebase.paths()
    finally:
        codebase.close()


def session(folder: Path, state: Path) -> Session:
    return Session(Settings(), folder, state)


def test_trusting_always_answers_what_came_of_it(home, tmp_path):
    project, state = home / "project", tmp_path / "state"
    assert "is trusted but has no AGENTS.md yet" in session(project, state).folder.trust()
    (project / "AGENTS.md").write_text("Be kind.\n")
    assert "is used from the next chat on" in session(project, state).folder.trust()
    assert "was already trusted" in session(project, state).folder.trust()


def test_a_folder_that_is_deleted_meanwhile_is_reported(home, tmp_path):
    project = home / "project"
    asked = session(project, tmp_path / "state")
    shutil.rmtree(project)
    with pytest.raises(UserError) as error:
        next(asked.chat.ask("where is total?"))
    assert str(error.value) == (
        f"{project} was deleted, so there is nothing to ask about. Create it again, or start in another folder."
    )
