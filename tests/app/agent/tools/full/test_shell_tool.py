"""The shell tool: what the model reads of a command, who is asked, and what runs in the background."""

import json
import re
import threading
import time
from pathlib import Path

import pytest

from laguna_tui.agent.changes import Changes
from laguna_tui.agent.tool_run import PermissionDenied, ToolError, ToolRun
from laguna_tui.agent.tools.base.results import RESULT_LIMIT_CHARS, CommandEnd
from laguna_tui.agent.tools.base.tool import ArgumentError, ToolServices, read_arguments
from laguna_tui.agent.tools.full import shell
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.full.shell import SHELL
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.events import Notice, ToolProgress
from laguna_tui.base.permission_request import CallProposal, CommandProposal, Decision, PermissionAnswer
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.repo.git.repository import plain_init
from laguna_tui.sandbox import command_output
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus, probe_sandbox
from laguna_tui.sandbox.runner import CommandRunner
from laguna_tui.sandbox.running_command import CommandResult
from laguna_tui.undo.undo import CheckpointError
from tests.app.approvers import YES

NO_SANDBOX = SandboxStatus(SandboxKind.NONE, "There is no sandbox.", tried=("there is none",))


class Bench:
    """The tool in a folder, what was emitted, asked and done before commands."""

    def __init__(self, root, results):
        self.root = root
        self.runner = CommandRunner(root, results=results, probe=lambda: NO_SANDBOX)
        self.emitted, self.asked, self.noted = [], [], []
        self.answer = YES
        self.cancelled = lambda: False
        self.emit = self.emitted.append
        self.services = ToolServices(Changes(self), None, lambda: self.runner)

    def before_change(self, paths, should_stop):
        self.noted.append((paths, len(self.asked), self.files))

    def after_change(self):
        self.noted.append(self.files)

    @property
    def files(self):
        return sorted(path.name for path in self.root.iterdir())

    def ask(self, request):
        self.asked.append(request)
        if not self.answer.allowed:
            raise PermissionDenied("the user declined this command")
        return self.answer

    def run(self, **arguments):
        run = ToolRun(Workspace(self.root), 7, self.emit, self.ask, self.cancelled)
        return SHELL.run(self.services, run, read_arguments(SHELL.arguments, arguments))

    def result(self, **arguments):
        return json.loads(self.run(**arguments).output)


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "root").mkdir()
    made = Bench(tmp_path / "root", tmp_path / "results")
    yield made
    made.runner.close()


def test_the_answer_is_the_json_that_models_were_trained_on(bench):
    assert bench.run(cmd="echo 'Zoë'; echo oops >&2; exit 3").output == '{"stdout": "Zoë\\noops\\n", "exit_code": 3}'


@pytest.mark.parametrize(
    ("command", "note"),
    [
        ("(exit 1) | tail -3", "command 1 of the last pipe ended with 1"),
        ("ls no-such-file 2>/dev/null | tail -3", "ls ended with 2"),
        ("cd . && LANG=C /bin/ls no-such-file 2>&1 | cat | wc -l;", "ls ended with 2"),
        ("true; ls no-such-file 2>/dev/null | cat | ls no-such-file | cat", "ls ended with 2; ls ended with 2"),
        ("if ls no-such-file 2>/dev/null | cat; then :; fi", None),
        ("yes | head -1", None),
        ("false", None),
        ("true | false", None),
        ("false | true && true", None),
    ],
)
def test_what_failed_in_the_last_pipe_stands_beside_the_exit_code(bench, command, note):
    assert bench.result(cmd=command).get("note") == note


def test_how_a_command_ended_is_passed_on_with_the_command_that_ran(bench):
    bench.answer = PermissionAnswer(Decision.YES, edited="false | true")
    assert bench.run(cmd="make test").command == CommandEnd("false | true", 0, (1, 0))
    assert bench.run(cmd="sleep 600", background=True).command is None


def test_it_runs_in_the_projects_folder_in_bash(bench):
    (bench.root / "here.txt").touch()
    assert bench.result(cmd="[[ -e here.txt ]] && ls <(:) >/dev/null && echo yes")["stdout"] == "yes\n"


def test_output_is_passed_on_as_it_comes(bench):
    bench.run(cmd="printf 'one\\ntwo'")
    output = [each for each in bench.emitted if isinstance(each, ToolProgress)]
    assert "".join(each.text for each in output) == "one\ntwo"
    assert {each.call_id for each in output} == {7}


def test_the_limits_of_the_sandbox_are_explained_once(bench):
    for _ in range(2):
        bench.run(cmd="true")
    assert [each.text for each in bench.emitted if isinstance(each, Notice)] == [
        "Commands run without a sandbox (there is none), so every command needs your approval."
    ]
    assert {request.approval_reason for request in bench.asked} == {"there is no sandbox"}


def test_the_user_is_asked_about_exactly_what_would_run(bench):
    bench.run(cmd="true", timeout=5)
    [request] = bench.asked
    assert request.tool == "shell"
    assert request.proposal == CommandProposal("true", bench.root, 5, background=False)
    assert request.sandbox == ""
    assert request.approval_reason == "there is no sandbox"
    assert not request.network


@pytest.fixture
def full_bench(tmp_path):
    """In a sandbox, in a folder with more keys than can be hidden."""
    if probe_sandbox().kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(probe_sandbox().sentence)
    root = tmp_path / "root"
    (root / "keys").mkdir(parents=True)
    for number in range(1_010):
        (root / f"keys/k{number}.pem").touch()
    made = Bench(root, tmp_path / "results")
    made.runner = CommandRunner(root, results=tmp_path / "results")
    yield made
    made.runner.close()


@pytest.mark.parametrize("background", [False, True])
def test_a_command_that_cannot_be_kept_from_everything_is_asked_about(full_bench, background):
    assert full_bench.result(cmd="echo first", background=background)["stdout"] == "first\n"
    assert full_bench.result(cmd="echo second", background=background)["stdout"] == "second\n"
    unknown, first, second = (request.approval_reason for request in full_bench.asked)
    assert unknown == ""
    assert first == second
    assert "most of them are in keys" in first


def test_a_command_that_cannot_be_kept_from_everything_does_not_run_unless_the_user_agrees(full_bench):
    def ask(request):
        full_bench.asked.append(request)
        if request.approval_reason:
            raise PermissionDenied("the user declined this command")
        return YES

    full_bench.ask = ask
    with pytest.raises(PermissionDenied):
        full_bench.run(cmd="touch made")
    assert not (full_bench.root / "made").exists()


def test_once_everything_can_be_kept_from_it_a_command_is_asked_about_once_more(full_bench):
    full_bench.run(cmd="true")
    for path in full_bench.root.glob("keys/*"):
        path.unlink()
    full_bench.asked.clear()
    full_bench.run(cmd="true")
    full_bench.run(cmd="true")
    assert [bool(request.approval_reason) for request in full_bench.asked] == [True, False]


def test_a_declined_command_does_not_run(bench):
    bench.answer = PermissionAnswer(Decision.NO)
    with pytest.raises(PermissionDenied):
        bench.run(cmd="touch made")
    assert not (bench.root / "made").exists()
    assert not bench.noted


@pytest.mark.parametrize("background", [False, True])
def test_what_is_there_is_noted_once_a_command_is_allowed_and_when_it_has_ended(bench, background):
    bench.run(cmd="touch made", background=background)
    assert bench.noted == [(None, 1, []), ["made"]]


def test_a_command_whose_changes_could_not_be_undone_is_not_run(bench):
    def full(paths, should_stop):
        raise CheckpointError("nothing was changed, because it could not be undone: the disk is full")

    bench.before_change = full
    with pytest.raises(ToolError, match="could not be undone"):
        bench.run(cmd="touch made")
    assert bench.files == []


def test_what_the_user_made_of_the_command_runs_and_is_told(bench):
    bench.answer = PermissionAnswer(Decision.YES, edited="echo mine")
    said = bench.result(cmd="echo yours")
    assert said == {
        "stdout": "mine\n",
        "exit_code": 0,
        "note": "the user changed the command, and what ran is: echo mine",
    }


@pytest.mark.parametrize(("decision", "network"), [(Decision.YES, False), (Decision.YES_WITH_NETWORK, True)])
def test_only_the_users_answer_gives_network(bench, monkeypatch, decision, network):
    given = []
    run = bench.runner.run
    monkeypatch.setattr(bench.runner, "run", lambda *args, **more: given.append(more["network"]) or run(*args, **more))
    bench.answer = PermissionAnswer(decision)
    bench.run(cmd="true")
    assert given == [network]


def test_no_argument_is_about_the_sandbox_or_the_network(bench):
    assert set(SHELL.spec.parameters["properties"]) == {"cmd", "timeout", "background", "job", "stop"}
    with pytest.raises(ArgumentError, match="unknown argument network"):
        bench.run(cmd="true", network=True)


def test_a_timeout_is_told_with_the_output_so_far(bench):
    said = bench.result(cmd="echo begun; sleep 60", timeout=1)
    assert (said["stdout"], said["exit_code"]) == ("begun\n", 124)
    assert said["note"] == "stopped after 1 s; give a longer timeout, or background=true for what does not end"


def test_without_a_timeout_there_is_one(bench):
    bench.run(cmd="true")
    bench.run(cmd="true", timeout=10**8)
    assert [request.proposal.timeout_s for request in bench.asked] == [shell.TIMEOUT_S, shell.LONGEST_S]


def test_a_cancelled_command_is_stopped_and_says_so(bench):
    seen = threading.Event()
    bench.emit = lambda event: seen.set() if isinstance(event, ToolProgress) else None
    bench.cancelled = seen.is_set
    said = bench.result(cmd="echo begun; sleep 60")
    assert said == {"stdout": "begun\n", "exit_code": 130, "note": "stopped before its end"}


@pytest.mark.parametrize("written", ["seq 100000", "yes '\"\\\\' | head -c 200000", "yes é | head -c 100000"])
def test_a_long_output_stays_json_within_the_limit_and_whole_on_disk(bench, written):
    answer = bench.run(cmd=written)
    said = json.loads(answer.output)
    assert RESULT_LIMIT_CHARS * 0.8 < len(answer.output) <= RESULT_LIMIT_CHARS
    assert "left out here" in said["stdout"]
    assert said["note"] == "the output is too long; narrow it, such as with grep, head or tail"
    assert Path(answer.full_output).stat().st_size > 99_999


def test_the_whole_output_is_named_to_the_user(bench):
    box = Toolbox(FULL, Workspace(bench.root), commands=lambda: bench.runner, codebase=object())
    run = ToolRun(box.workspace, 1, lambda event: None, bench.ask, lambda: False)
    box.permissions.check = lambda: None
    result = box.run("shell", {"cmd": "seq 100000"}, run)
    assert json.loads(result.output)["exit_code"] == 0
    assert Path(result.full_output).read_text().splitlines()[99_999] == "100000"


def test_bytes_that_are_not_text_are_counted_beside_the_text(bench):
    (bench.root / "image").write_bytes(bytes(range(256)) * 12)
    answer = bench.run(cmd="cat image; echo; ls no-such-file 2>&1; printf 'a b\\0c\\0'")
    error = "ls: cannot access 'no-such-file': No such file or directory"
    assert json.loads(answer.output)["stdout"].replace("\u2019", "'").replace("\u2018", "'") == (
        f"[3,073 bytes that are not text]\n{error}\na b\\x00c\\x00"
    )
    assert Path(answer.full_output).read_bytes().startswith(bytes(range(256)))


def test_what_was_left_running_is_told(bench):
    said = bench.result(cmd="sleep 60 & echo started")
    assert said["stdout"] == "started\n"
    assert said["note"].startswith("1 process that it left running ended with it; use background=true")


def test_an_output_that_is_not_kept_whole_is_told_to_the_user(bench, monkeypatch):
    monkeypatch.setattr(command_output, "MAX_FILE_BYTES", 100_000)
    bench.run(cmd="yes | head -c 1000000")
    *_, notice = [each.text for each in bench.emitted if isinstance(each, Notice)]
    assert re.fullmatch(r"Only [0-9,]+ of the command's 1,000,000 bytes of output were saved, in /.+\.", notice)


def test_a_command_that_cannot_run_says_why(bench):
    with pytest.raises(ToolError, match="the command was not run: it contains a character"):
        bench.run(cmd="echo \0")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "cmd is empty"),
        ({"cmd": "  "}, "cmd is empty"),
        ({"cmd": "true", "job": 1}, "both given"),
        ({"cmd": "true", "timeout": 0}, "timeout is not a number of seconds"),
        ({"job": 5}, "there is no job 5"),
    ],
)
def test_a_wrong_call_says_what_to_call_with(bench, arguments, sentence):
    with pytest.raises(ToolError, match=sentence):
        bench.run(**arguments)
    assert not bench.asked


def test_a_background_command_is_read_listed_and_stopped(bench):
    started = bench.result(cmd="echo up; while ! [ -e go ]; do sleep 0.01; done; echo more; sleep 60", background=True)
    assert (started["stdout"], started["exit_code"], started["job"]) == ("up\n", None, 1)
    assert started["note"].endswith("job=1 reads on, and with stop=true ends it")
    assert bench.asked[0].proposal.background
    (bench.root / "go").touch()
    read = bench.result(job=1, timeout=20)
    assert (read["stdout"], read["exit_code"]) == ("more\n", None)
    assert bench.run(job=0).output.startswith("1: echo up; while ! [ -e go ]; do sleep 0.01; done")
    assert "(running, " in bench.run(job=0).output
    assert bench.result(job=1, stop=True) == {"stdout": "", "exit_code": 130, "note": "stopped before its end"}
    assert "(exit code 130, " in bench.run(job=0).output
    assert len(bench.asked) == 1


def test_a_background_command_that_fails_at_once_says_so_at_once(bench):
    assert bench.result(cmd="echo no; exit 4", background=True) == {"stdout": "no\n", "exit_code": 4}


def test_without_jobs_the_list_says_so(bench):
    assert bench.run(job=0).output == "there are no jobs"


@pytest.mark.parametrize(
    ("written", "network", "note"),
    [
        ("curl: (6) Could not resolve host: example.org", False, "commands have no network unless"),
        ("touch: cannot touch '/etc/x': Read-only file system", True, "only the project and the temporary folder"),
    ],
)
def test_what_the_sandbox_prevented_is_told(bench, written, network, note):
    boxed = SandboxStatus(SandboxKind.BUBBLEWRAP, "It is in a box.")
    result = bench.runner.run(f'echo "{written}"; exit 1', folder=bench.root, timeout_s=60)
    assert next(shell._blocked(result, written, boxed, network)).startswith(note)
    assert not [*shell._blocked(result, written, NO_SANDBOX, network)]


_LOCKED = "fatal: Unable to create '/x/.git/{path}.lock': Read-only file system"
_PART = "this session's folder is only a part of the repository"


@pytest.mark.parametrize(
    ("command", "printed", "notes"),
    [
        ("git add -A", _LOCKED.format(path="index"), [_PART]),
        ("git tag x", f"fatal: cannot lock ref 'refs/tags/x': {_LOCKED.format(path='refs/tags/x')}", [_PART]),
        ("git fetch", "error: cannot open '.git/FETCH_HEAD': Permission denied", [_PART]),
        ("git config a.b c", "error: could not lock config file .git/config: Read-only file system", [_PART]),
        ("git commit-tree x", "error: insufficient permission for adding an object to repository database", [_PART]),
        ("git stash", "", [_PART]),
        ("git -C m add -A", _LOCKED.format(path="modules/m/index"), [shell._SUBMODULE]),
        (
            "git commit -qm x",
            "error: gpg failed to sign the data\nfatal: failed to write commit object",
            [
                "git cannot sign here, because commands neither see the user's keys (~/.gnupg, ~/.ssh) nor reach the"
                " agent that has them; ask the user to commit with /commit, which signs"
            ],
        ),
        ("git diff --exit-code", "", []),
    ],
)
def test_a_repository_that_git_cannot_change_is_explained(command, printed, notes):
    boxed = SandboxStatus(SandboxKind.BUBBLEWRAP, "It is in a box.")
    result = CommandResult(printed, 1, git_read_only=_PART)
    assert [*shell._blocked(result, command, boxed, network=False)] == notes


class Sandboxed(Bench):
    def __init__(self, root, results):
        super().__init__(root, results)
        self.runner = CommandRunner(root, results=results)


@pytest.fixture
def sandboxed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "root").mkdir()
    made = Sandboxed(tmp_path / "root", tmp_path / "results")
    if made.runner.status.kind is SandboxKind.NONE:
        pytest.skip(made.runner.status.sentence)
    yield made
    made.runner.close()


def test_the_user_is_asked_whether_to_put_back_what_a_command_created(sandboxed):
    said = sandboxed.result(cmd="mkdir v; echo x > v/tasks.json; mv v .vscode; echo x > plain")
    command, question = sandboxed.asked
    assert isinstance(command.proposal, CommandProposal)
    assert question.proposal == CallProposal(
        ".vscode", (".vscode: editors run commands from it",), action="Put back .vscode"
    )
    assert question.approval_reason
    assert "note" not in said
    assert sandboxed.files == [".vscode", "plain"]
    assert (sandboxed.root / ".vscode/tasks.json").read_text() == "x\n"
    # It is a part of what the command changed, for undo.
    assert sandboxed.noted[-1] == [".vscode", "plain"]


def test_what_the_user_does_not_put_back_stays_away_and_is_named(sandboxed):
    sandboxed.ask_before = sandboxed.ask
    sandboxed.ask = lambda request: sandboxed.ask_before(request) if request.network else _decline()
    said = sandboxed.result(cmd="echo x > AGENTS.md")
    assert said["note"] == (
        "AGENTS.md cannot be created by a command, because other programs execute it; it was moved away"
    )
    # Under Landlock there is another one, about what it cannot protect.
    (*_, notice) = [each.text for each in sandboxed.emitted if isinstance(each, Notice)]
    stored = Path(notice.removeprefix("AGENTS.md was moved to ").removesuffix(", because other programs execute it."))
    assert stored.read_text() == "x\n"
    assert sandboxed.files == []


def _decline():
    raise PermissionDenied("the user declined this call")


def test_what_a_job_created_is_asked_about_when_it_is_read(sandboxed):
    sandboxed.run(cmd="until [ -e go ]; do sleep 0.02; done; mkdir .idea; sleep 60", background=True)
    (sandboxed.root / "go").touch()
    until = time.monotonic() + 30
    while not sandboxed.runner.quarantine.has_pending:
        assert time.monotonic() < until
        time.sleep(0.02)
    sandboxed.run(job=1)
    assert sandboxed.asked[-1].proposal.action == "Put back .idea"
    assert sandboxed.files == [".idea", "go"]


def test_a_command_that_creates_such_files_again_and_again_is_ended_and_told_so(sandboxed):
    said = sandboxed.result(cmd="for i in $(seq 1000); do mkdir .vscode 2>/dev/null; sleep 0.01; done")
    assert said["exit_code"] == 137
    assert said["note"].endswith("it was ended because it created such files again and again")


@pytest.mark.parametrize(
    ("command", "branch", "stdout"),
    [
        ("git init", "", ""),
        ("git init -q -b trunk .", "trunk", ""),
        ("git init --initial-branch=trunk && git add -A && git status --short", "trunk", ""),
        ("git init; echo done", "", "done\n"),
    ],
)
def test_a_plain_git_init_makes_a_repository(sandboxed, command, branch, stdout):
    said = sandboxed.result(cmd=command)
    assert said["exit_code"] == 0
    assert said["stdout"].startswith("Initialized empty Git repository in ")
    assert said["stdout"].endswith(stdout)
    assert len(sandboxed.asked) == 1
    head = (sandboxed.root / ".git/HEAD").read_text()
    assert head.startswith("ref: refs/heads/")
    assert not branch or head == f"ref: refs/heads/{branch}\n"


@pytest.mark.parametrize(
    "command", ["git init --template=evil", "git init --bare", "git -c a.b=c init", "cd x; git init"]
)
def test_any_other_git_init_runs_in_the_sandbox(command):
    assert plain_init(command) is None
