"""What a change broke: told once, and only what was not there before."""

import os
from pathlib import Path

import pytest

from laguna_tui.agent import diagnostics
from laguna_tui.agent.changes import Changes
from laguna_tui.agent.diagnostics import Diagnostics
from laguna_tui.agent.tool_run import PermissionDenied, ToolError, ToolRun
from laguna_tui.base.events import Notice
from laguna_tui.base.permission_request import CommandProposal
from laguna_tui.repo.edits.file_changes import apply_change, propose_delete, propose_move, propose_write
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus
from laguna_tui.sandbox.runner import CommandRunner
from tests.app.approvers import YES

NO_SANDBOX = SandboxStatus(SandboxKind.NONE, "There is no sandbox.")
GREP = """#!/bin/sh
grep -rn --include=*.py bad . | sed -E 's|^\\./([^:]*):([0-9]+):.*|\\1:\\2:1: F821 bad name|'
"""
"""A program that finds the word bad, and says so as ruff does."""


class Bench:
    """A folder whose changes are made and checked."""

    def __init__(self, root, results):
        self.root = root
        self.workspace = Workspace(root)
        self.runner = CommandRunner(root, results=results, probe=lambda: NO_SANDBOX)
        self.diagnostics = Diagnostics(lambda: self.runner, Changes(self))
        self.commands, self.emitted, self.asked = [], [], []
        self.allowed = True
        self.cancelled = False

    def before_change(self, paths, should_stop):
        self.commands.append(paths)

    def after_change(self):
        pass

    @property
    def notices(self):
        return [event.text for event in self.emitted if isinstance(event, Notice)]

    def ask(self, request):
        self.asked.append(request)
        if not self.allowed:
            raise PermissionDenied("the user declined this command")
        return YES

    def program(self, name, text):
        path = self.root / ".venv/bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def make(self, proposal):
        run = ToolRun(self.workspace, 1, self.emitted.append, self.ask, lambda: self.cancelled)
        self.diagnostics.before_change(run, proposal)
        apply_change(proposal)
        return self.diagnostics.after_change(run, proposal)

    def write(self, path, text):
        return self.make(propose_write(self.workspace, path, text))


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "root").mkdir()
    made = Bench(tmp_path / "root", tmp_path / "results")
    yield made
    made.runner.close()


@pytest.fixture
def ruff(bench):
    """A project that has ruff configured, with a file that was bad before."""
    (bench.root / "ruff.toml").touch()
    (bench.root / "old.py").write_text("bad\n")
    bench.program("ruff", GREP)
    return bench


def test_a_new_syntax_error_is_told_with_its_line_and_text(bench):
    assert bench.write("a.js", "let a = 1;\nlet b = ;\n") == ["New problems:", "a.js:2: syntax error: let b = ;"]
    assert bench.write("a.js", "// moved\nlet a = 1;\nlet b = ;\n") == []
    assert bench.make(propose_delete(bench.workspace, "a.js")) == []


def test_without_configuration_nothing_is_run_or_asked(bench):
    bench.program("ruff", GREP)
    assert bench.write("a.py", "bad\n") == []
    assert (bench.asked, bench.commands) == ([], [])


def test_what_was_wrong_before_is_not_told(ruff):
    assert ruff.write("new.py", "good\nbad\n") == ["New problems:", "new.py:2: bad name [ruff F821]"]


def test_what_moved_within_its_file_or_with_it_is_not_new(ruff):
    assert ruff.write("old.py", "# one\n# two\nbad\n") == []
    assert ruff.make(propose_move(ruff.workspace, "old.py", "moved.py")) == []
    assert ruff.write("moved.py", "bad\nbad = 1\n") == ["New problems:", "moved.py:2: bad name [ruff F821]"]


def test_a_second_place_that_reads_the_same_is_new(ruff):
    assert ruff.write("old.py", "bad\nx = 1\nbad\n") == ["New problems:", "old.py:3: bad name [ruff F821]"]


def test_what_was_told_is_not_told_again_but_counted_until_it_is_mended(ruff):
    ruff.write("new.py", "bad\n")
    assert ruff.write("other.py", "good\n") == ["1 earlier problem remains."]
    assert ruff.write("new.py", "good\n") == []
    assert ruff.write("new.py", "bad\n") == ["New problems:", "new.py:1: bad name [ruff F821]"]


def test_only_so_many_problems_are_shown(ruff):
    lines = ruff.write("new.py", "".join(f"bad{number}\n" for number in range(50)))
    assert len(lines) == 12
    assert lines[-1] == "… 40 more"


def test_all_of_a_long_output_counts(ruff):
    (ruff.root / "old.py").write_text("".join(f"bad{number}\n" for number in range(1500)))
    assert ruff.write("new.py", "bad\n") == ["New problems:", "new.py:1: bad name [ruff F821]"]


def test_a_check_is_permitted_once_for_its_folder(ruff):
    ruff.write("a.py", "good\n")
    ruff.write("b.py", "bad\n")
    (request,) = ruff.asked
    assert isinstance(request.proposal, CommandProposal)
    assert (request.tool, request.sandbox) == ("shell", "")
    assert (request.proposal.folder, request.proposal.timeout_s) == (ruff.root, 120)
    assert request.proposal.command.startswith(".venv/bin/ruff check ")
    assert request.why == "The project's own linter, to check the model's changes. You are asked once."


def test_what_may_change_files_is_told_before_each_command(ruff):
    ruff.write("a.py", "good\n")
    assert len(ruff.commands) == 2


def test_a_check_that_is_not_permitted_is_neither_run_nor_asked_for_again(ruff):
    ruff.allowed = False
    assert ruff.write("a.py", "bad\n") == []
    assert ruff.write("b.py", "bad\n") == []
    assert (len(ruff.asked), ruff.commands, ruff.notices) == (1, [], [])


def test_where_no_command_can_be_run_only_grammars_speak(ruff):
    def none():
        raise ToolError("no command can be run here; go on without it")

    ruff.diagnostics = Diagnostics(none)
    assert ruff.write("a.py", "bad\n") == []


def test_the_checks_of_two_folders_are_two(ruff):
    (ruff.root / "lib").mkdir()
    (ruff.root / "lib/ruff.toml").touch()
    assert ruff.write("a.py", "bad\n") == ["New problems:", "a.py:1: bad name [ruff F821]"]
    assert ruff.write("lib/b.py", "bad\n") == ["New problems:", "lib/b.py:1: bad name [ruff F821]"]
    assert [request.proposal.folder.name for request in ruff.asked] == ["root", "lib"]


@pytest.mark.parametrize(
    ("program", "notice"),
    [
        ("#!/bin/sh\nexit 127\n", "not installed here"),
        ("#!/bin/sh\necho cannot parse ruff.toml\nexit 2\n", "exit code 2"),
        ("#!/bin/sh\nsleep 60\n", "took longer than"),
    ],
)
def test_a_check_that_cannot_speak_is_left_out_with_one_notice(ruff, monkeypatch, program, notice):
    monkeypatch.setattr(diagnostics, "CHECK_TIMEOUT_S", 0.5)
    ruff.program("ruff", program)
    assert ruff.write("a.py", "bad\n") == []
    ruff.program("ruff", GREP)
    assert ruff.write("b.py", "bad\n") == []
    assert len(ruff.notices) == 1
    assert notice in ruff.notices[0]


def test_a_slow_check_is_left_out_after_its_first_answer(ruff, monkeypatch):
    monkeypatch.setattr(diagnostics, "SLOW_S", -1.0)
    assert ruff.write("a.py", "bad\n") == []
    assert len(ruff.notices) == 1
    assert "does not check each of the model's changes" in ruff.notices[0]


def test_a_check_that_was_stopped_is_tried_again_before_the_next_change(ruff):
    ruff.cancelled = True
    ruff.write("a.py", "good\n")
    ruff.cancelled = False
    assert ruff.write("b.py", "bad\n") == ["New problems:", "b.py:1: bad name [ruff F821]"]
    assert ruff.notices == []


@pytest.mark.skipif(not os.access("/dev/zero", os.R_OK), reason="there is no endless file here")
def test_an_endless_output_ends_with_its_time(ruff, monkeypatch):
    monkeypatch.setattr(diagnostics, "CHECK_TIMEOUT_S", 0.5)
    ruff.program("ruff", "#!/bin/sh\nyes a.py:1:1: F821 bad\n")
    assert ruff.write("a.py", "good\n") == []
    assert "took longer" in ruff.notices[0]
    assert Path(ruff.root / "a.py").exists()
