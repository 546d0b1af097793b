"""`shell`: run a command in the sandbox, in the background if it is not to end, and read or stop what runs there.

The answer is JSON, as the models were trained on: `{"stdout": …, "exit_code": …}`, with a `note` where there is more to
say. No argument changes what the sandbox allows; the user does, who is asked.
"""

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.agent.changes import ask_to_put_back
from laguna_tui.agent.permissions.policy import secrets_named
from laguna_tui.agent.tool_run import ToolError, ToolRun
from laguna_tui.agent.tools.base.results import CommandEnd, ToolResult
from laguna_tui.agent.tools.base.tool import LAST_LINE, ArgumentError, Tool, ToolServices
from laguna_tui.base.events import Notice, ToolProgress
from laguna_tui.base.permission_request import CommandProposal, Decision, PermissionAnswer, PermissionRequest
from laguna_tui.base.schema import declared
from laguna_tui.base.units import plural
from laguna_tui.repo.git.repository import initialise, plain_init

if TYPE_CHECKING:
    from laguna_tui.sandbox.probe import SandboxStatus
    from laguna_tui.sandbox.runner import CommandRunner
    from laguna_tui.sandbox.running_command import CommandResult

NAME = "shell"

TIMEOUT_S = 120
"""Where the model names no limit: as long as most test suites take."""

LONGEST_S = 3600
"""Longest time limit. A command that takes longer belongs into the background."""

EARLY_S = 1.0
"""A background command that ends so soon, as one does that fails, is answered with its end."""

WAIT_S = 10
"""Reading a background command waits so long for something new, where the model names no other time."""

_PIPE_CLOSED = 141
"""Exit code of a command that wrote on after the next one in its pipe had read enough: no failure."""

_ASSIGNMENT = re.compile(r"\w+=")
_EDITED_CHARS = 400
_COMMAND_CHARS = 80

_NO_NETWORK = re.compile(
    r"could not resolve host|name resolution|name or service not known|network is unreachable|getaddrinfo|EAI_AGAIN"
    r"|ENOTFOUND|failed to establish a new connection|failed to lookup address|no such host|dns error",
    re.IGNORECASE,
)
_NO_GIT_WRITE = re.compile(
    r"(?:\.lock'|FETCH_HEAD'|config file \S+|to create temporary file):"
    r" (?:Read-only file system|Permission denied|Operation not permitted)|insufficient permission for adding an object"
)
_NO_SIGNATURE = re.compile(r"gpg failed to sign the data|failed to write commit object|gpg: signing failed")
_STASH = re.compile(r"\bgit\b.*\bstash\b")
"""It fails without a word."""
_IN_A_SUBMODULE = re.compile(r"/\.git/modules/[^\n]*\.lock'?: ")
_SUBMODULE = (
    "git can change a submodule only in a session that was started in it, because its configuration and hooks are held"
    " here; the user can start one in the submodule's folder"
)
_READ_ONLY = re.compile(r"read-only file system|EROFS", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ShellArguments:
    """A command to run, or the background job that is asked about."""

    cmd: str = declared("", "command for bash")
    timeout: int | None = declared(None, f"seconds; {TIMEOUT_S} by default", minimum=1, unit="number of seconds")
    background: bool = declared(
        False, "return at once with a job number; anything else that cmd leaves running ends with it"
    )
    job: int | None = declared(
        None,
        "instead of cmd: wait for a job's new output; 0 lists jobs",
        minimum=0,
        maximum=LAST_LINE,
        unit="job number",
    )
    stop: bool = declared(False, "end that job")


def shell(services: ToolServices, run: ToolRun, wanted: ShellArguments) -> ToolResult:
    """Run the command, or read, stop or list background jobs.

    Raises:
        ToolError: It was not run, or there is no such job; says what to do.
    """
    if wanted.job is not None:
        if wanted.cmd.strip():
            raise ArgumentError("cmd and job are both given; call again with one of them")
        return _job(services, run, wanted.job, wanted)
    if not wanted.cmd.strip():
        raise ArgumentError("cmd is empty; call again with cmd as text, or with job")
    return _command(services, run, wanted)


def _command(services: ToolServices, run: ToolRun, wanted: ShellArguments) -> ToolResult:
    from laguna_tui.sandbox.running_command import CommandNotRun, NeedsApproval

    commands = services.commands()
    timeout_s = min(wanted.timeout or TIMEOUT_S, LONGEST_S)
    limit = commands.limit
    request = _request(run, wanted, timeout_s, commands)
    if request.approval_reason and (limits := commands.take_limits()):
        run.emit(Notice(limits))
    answer = run.ask(request)
    command = wanted.cmd if answer.edited is None else answer.edited
    folder = run.workspace.root
    printed = ""
    try:
        with services.changes.around_command(run):
            if (init := plain_init(command)) and not os.path.lexists(folder / ".git"):
                # In the sandbox nothing can create `.git` here.
                printed, command = _initialise(folder, init[0]), init[1] or "true"
            try:
                job, result = _run(commands, run, wanted, command, answer, beyond_limits=bool(limit))
            except NeedsApproval as error:
                proposal = CommandProposal(command, folder, timeout_s, wanted.background)
                again = run.ask(replace(request, proposal=proposal, approval_reason=str(error)))
                answer = replace(again, edited=again.edited if again.edited is not None else answer.edited)
                command = command if again.edited is None else again.edited
                job, result = _run(commands, run, wanted, command, answer, beyond_limits=True)
            moved = list(ask_to_put_back(run, NAME, commands.quarantine))
    except CommandNotRun as error:
        raise ToolError(f"the command was not run: {error}") from error
    result = replace(result, stdout=printed + result.stdout)
    network = answer.decision is Decision.YES_WITH_NETWORK
    blocked = _blocked(result, command, commands.status, network)
    notes = [*_failed(command, result.pipe), *moved, *_edited(answer), *_notes(result, timeout_s, job), *blocked]
    said = _answer(run, result, notes, job)
    if job is not None or result.exit_code is None:
        return said
    return replace(said, command=CommandEnd(command, result.exit_code, result.pipe))


def _run(
    commands: "CommandRunner",
    run: ToolRun,
    wanted: ShellArguments,
    command: str,
    answer: PermissionAnswer,
    *,
    beyond_limits: bool,
) -> tuple[int | None, "CommandResult"]:
    """Run a command, or start it in the background; return the number of the job, and the result so far."""
    folder = run.workspace.root
    network = answer.decision is Decision.YES_WITH_NETWORK
    # Always asked about, so the user saw the names.
    secrets = any(secrets_named(command))
    if wanted.background:
        job = commands.start_background(
            command,
            folder=folder,
            timeout_s=None if wanted.timeout is None else min(wanted.timeout, LONGEST_S),
            network=network,
            secrets=secrets,
            beyond_limits=beyond_limits,
        )
        result = commands.read(job, EARLY_S, run.cancelled)
        assert result is not None, "it was started just now"
        return job, result
    result = commands.run(
        command,
        folder=folder,
        timeout_s=min(wanted.timeout or TIMEOUT_S, LONGEST_S),
        network=network,
        secrets=secrets,
        beyond_limits=beyond_limits,
        on_output=lambda text: run.emit(ToolProgress(run.call_id, text)),
        cancelled=run.cancelled,
    )
    return None, result


def _job(services: ToolServices, run: ToolRun, number: int, wanted: ShellArguments) -> ToolResult:
    commands = services.commands()
    if number == 0:
        return _listed(commands)
    if wanted.stop:
        commands.stop(number)
    wait_s = min(wanted.timeout or WAIT_S, LONGEST_S)
    result = commands.read(number, 0 if wanted.stop else wait_s, run.cancelled)
    if result is None:
        raise ToolError(f"there is no job {number}; job 0 lists those that there are")
    moved = list[str]()
    if commands.quarantine.has_pending:
        with services.changes.around_command(run):
            moved = list(ask_to_put_back(run, NAME, commands.quarantine))
    return _answer(run, result, [*moved, *_notes(result, 0, number)], number)


def _initialise(folder: Path, branch: str) -> str:
    printed = initialise(folder, branch)
    if printed is None:
        raise ToolError("git init failed; ask the user to run it")
    return printed


def _request(run: ToolRun, wanted: ShellArguments, timeout_s: int, commands: "CommandRunner") -> PermissionRequest:
    from laguna_tui.sandbox.probe import SandboxKind, approval_reason

    status = commands.status
    return PermissionRequest(
        NAME,
        CommandProposal(wanted.cmd, run.workspace.root, timeout_s, wanted.background),
        sandbox=status.brief,
        approval_reason=approval_reason(wanted.cmd, status, commands.unhidden) or commands.limit,
        network=status.kind is not SandboxKind.NONE,
    )


def _answer(run: ToolRun, result: "CommandResult", notes: list[str], job: int | None) -> ToolResult:
    """Return the model's result; notices for the user are emitted."""
    for notice in _notices(result):
        run.emit(Notice(notice))
    said: dict[str, object] = {"stdout": result.stdout, "exit_code": result.exit_code}
    if job is not None and result.exit_code is None:
        said["job"] = job
    if notes:
        said["note"] = "; ".join(notes)
    return ToolResult(
        json.dumps(said, ensure_ascii=False),
        full_output=None if result.full_output is None else str(result.full_output),
    )


def _failed(command: str, pipe: Sequence[int]) -> Iterator[str]:
    """Yield the commands that failed in the last pipe, whose exit code is that of its last one alone."""
    programs = _last_pipe(command)
    for number, code in enumerate(pipe[:-1]):
        if code not in (0, _PIPE_CLOSED):
            named = programs[number] if len(programs) == len(pipe) else f"command {number + 1} of the last pipe"
            yield f"{named} ended with {code}"


def _last_pipe(command: str) -> list[str]:
    """Return the programs of the last pipe in a command, as far as its text says; empty if it is unclear."""
    words = shlex.shlex(command.rstrip("; \n"), posix=True, punctuation_chars="|&;()<>\n")
    words.whitespace, words.commenters = " \t\r", ""
    pipe: list[list[str]] = [[]]
    try:
        for word in words:
            if word in {"|", "|&"}:
                pipe.append([])
            elif set(word) <= set("|&;()\n"):
                pipe = [[]]
            else:
                pipe[-1].append(word)
    except ValueError:
        return []
    programs = [next((word for word in part if not _ASSIGNMENT.match(word)), "") for part in pipe]
    return [program.rpartition("/")[2] for program in programs] if all(programs) else []


def _edited(answer: PermissionAnswer) -> Iterator[str]:
    if answer.edited is not None:
        yield f"the user changed the command, and what ran is: {_short(answer.edited, _EDITED_CHARS)}"


def _notes(result: "CommandResult", timeout_s: int, job: int | None) -> Iterator[str]:
    """Yield what the model has to know beside the output."""
    if result.exit_code is None:
        yield f"still running after {result.seconds:.0f} s; job={job} reads on, and with stop=true ends it"
    elif result.timed_out and job is None:
        yield f"stopped after {timeout_s} s; give a longer timeout, or background=true for what does not end"
    elif result.timed_out:
        yield "stopped at its timeout"
    elif result.cancelled:
        yield "stopped before its end"
    elif result.left:
        left = f"{result.left} {plural(result.left, 'process', 'processes')}"
        yield f"{left} that it left running ended with it; use background=true for what has to go on"
    if result.findings.ended:
        yield "it was ended because it created such files again and again"
    if result.truncated:
        yield "the output is too long; narrow it, such as with grep, head or tail"


def _blocked(result: "CommandResult", command: str, status: "SandboxStatus", network: bool) -> Iterator[str]:
    """Yield what a command failed at because of the sandbox."""
    from laguna_tui.sandbox.probe import SandboxKind

    if not result.exit_code or status.kind is SandboxKind.NONE:
        return
    if not network and _NO_NETWORK.search(result.stdout):
        yield "commands have no network unless the user allows it; say so if it is needed"
    if result.secrets:
        yield (
            "a command that names no file with secrets, such as .env, finds it empty, unreadable or as last committed;"
            " one that names it is asked about"
        )
    if _NO_SIGNATURE.search(result.stdout):
        yield (
            "git cannot sign here, because commands neither see the user's keys (~/.gnupg, ~/.ssh) nor reach the agent"
            " that has them; ask the user to commit with /commit, which signs"
        )
    if why := _git_refused(result, command):
        yield why
    elif _READ_ONLY.search(result.stdout):
        yield (
            "only the project and the temporary folder can be written, without git's settings and hooks and what a rule"
            " of the user's denies"
        )


def _git_refused(result: "CommandResult", command: str) -> str:
    """Return why git could not write to the repository, as a clause; empty if it could, or did not try to."""
    if not _NO_GIT_WRITE.search(result.stdout) and not _STASH.search(command):
        return ""
    return _SUBMODULE if _IN_A_SUBMODULE.search(result.stdout) else result.git_read_only


def _notices(result: "CommandResult") -> Iterator[str]:
    if result.findings.changed:
        yield f"The command changed {', '.join(result.findings.changed)}, which other programs execute. Check it first."
    if result.findings.failed:
        yield f"Not put back: {', '.join(result.findings.failed)}."
    if result.dropped and result.full_output is not None:
        kept = result.size - result.dropped
        yield f"Only {kept:,} of the command's {result.size:,} bytes of output were saved, in {result.full_output}."


def _listed(commands: "CommandRunner") -> ToolResult:
    lines = []
    for each in commands.background():
        state = "running" if each.exit_code is None else f"exit code {each.exit_code}"
        command = _short(" ".join(each.command.split()), _COMMAND_CHARS)
        lines.append(f"{each.number}: {command} ({state}, {each.seconds:.0f} s{', new output' if each.unread else ''})")
    return ToolResult("\n".join(lines) or "there are no jobs")


def _short(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars]}…"


SHELL = Tool(
    NAME,
    "Run a command in the project's folder, without terminal and input, and without network unless the user allows it."
    " Gives JSON: stdout (with stderr) and exit_code.",
    ShellArguments,
    shell,
)
