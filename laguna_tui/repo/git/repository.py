"""Queries to git in a folder whose configuration may be hostile: no program named by the repository is ever run.

A repository's `.git/config` can name programs that git starts (fsmonitor, hooks, pager, filters, transports;
precedents: CVE-2025-59536, CVE-2026-21852). Each is switched off here, and no answer is better than a risky one:
every function returns None when git is missing, slow or failing. git would wait for a pipe or a device in place of a
file it reads, so git is not started in such a repository, and is killed when it waits without doing anything.
"""

import os
import re
import stat
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from laguna_engine.files import read_small_file
from laguna_engine.native.child import find_program
from laguna_tui.base.own_changes import announce

# A slower status is not worth waiting for before the first answer.
GIT_TIMEOUT_S = 5.0
# Without git's list every folder is walked and every ignore file applied here, which takes even longer.
LIST_TIMEOUT_S = 60.0
# How soon a stop by the user is noticed.
_POLL_S = 0.05
# No check for a stall before this: it takes longer than git takes for most folders.
_TRUSTED_S = 1.0
# A process that has used no CPU and no disk for this long waits for a pipe that nobody writes to.
_STALLED_S = 2.0


_GUARDS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "core.attributesFile": os.devnull,
    "core.untrackedCache": "false",
    "credential.helper": "",
    "diff.external": "",
    "diff.relative": "false",
    "submodule.recurse": "false",
}
# Only what git needs is passed on: GIT_DIR, GIT_CONFIG_* and the like from outside would change the answer.
_PASSED_ON = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")
# What a program that signs finds keys and their agent by, and asks for a passphrase on.
_FOR_KEYS = (
    "GNUPGHOME",
    "SSH_AUTH_SOCK",
    "SSH_ASKPASS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
)
# Long enough to type a passphrase, or to touch a key.
_SIGN_S = 120
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_DETACHED = "(detached)"
# Files that git reads before it lists anything, in the repository's git folder and, for a worktree, in the main one's.
_READ_BY_GIT = (
    "HEAD",
    "config",
    "config.worktree",
    "commondir",
    "index",
    "packed-refs",
    "shallow",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
)
_READ_IN_THE_FOLDER = (".gitignore", ".gitattributes", ".gitmodules")
_PLAIN_INIT = re.compile(
    r"\s*git\s+init((?:\s+(?:-q|--quiet|\.|(?:-b\s*|--initial-branch[=\s])[\w./]+))*)\s*(?:(?:&&|;|\n)(.*))?", re.DOTALL
)
_BRANCH = re.compile(r"(?:-b\s*|--initial-branch[=\s])(\S+)")
# A `.git` file, HEAD and commondir contain one path each.
_POINTER_BYTES = 16 * 1024
_CONFIG_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class GitState:
    """The branch (or commit), and the number of changed paths in the folder (changed, added, deleted or untracked)."""

    branch: str
    changed: int


def is_repository(folder: Path) -> bool:
    """Return whether git knows the folder's files: it or a parent contains `.git`, and no other work tree is set."""
    top = top_of(folder)
    return top is not None and not has_other_work_tree(top)


def has_other_work_tree(top: Path) -> bool:
    """Return whether the repository of a folder with `.git` has its files in another folder (core.worktree)."""
    own = git_folders(top)[:1]
    return bool(own) and work_tree(*own) not in (None, Path(os.path.realpath(top)))


def top_of(folder: Path) -> Path | None:
    """Return the nearest folder, from this one up, that contains `.git`."""
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)


def git_folders(top: Path) -> tuple[Path, ...]:
    """Return git's own folders for a folder that contains `.git`: that folder, or the target of a `.git` file.

    For a worktree both its own and its repository's. Links are resolved. Empty when `.git` is damaged.
    """
    own = top / ".git"
    if not own.is_dir():
        leads_to = _pointer(own, "gitdir:")
        if not leads_to:
            return ()
        own = top / leads_to
    common = own / _pointer(own / "commondir")
    return tuple(dict.fromkeys(Path(os.path.realpath(each)) for each in (own, common)))


def _pointer(path: Path, before: str = "") -> str:
    """Return the path in one of git's pointer files, after the prefix `before`; empty when there is none."""
    try:
        text = os.fsdecode(read_small_file(path, _POINTER_BYTES)).strip()
    except (OSError, ValueError):
        return ""
    return text.removeprefix(before).strip() if text.startswith(before) else ""


def _would_wait(folder: Path) -> bool:
    """Return whether there is a pipe, socket or device in place of a file that git reads."""
    top = top_of(folder)
    if top is None:
        return False
    places = git_folders(top)
    branches = filter(None, (_pointer(place / "HEAD", "ref:") for place in places))
    names = (*_READ_BY_GIT, *branches)
    read = [*(top / name for name in _READ_IN_THE_FOLDER), *(place / name for place in places for name in names)]
    return any(map(_is_special, read))


def _is_special(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def list_files(folder: Path, should_stop: Callable[[], bool] = lambda: False) -> list[str] | None:
    """Return the paths of tracked files and of new, not ignored ones, relative to the folder, in git's order."""
    return _listed(folder, should_stop, "-co", "--exclude-standard")


def tracked_files(folder: Path, should_stop: Callable[[], bool] = lambda: False) -> list[str] | None:
    """Return the paths in git's index, relative to the folder."""
    return _listed(folder, should_stop, "-c")


def untracked_files(folder: Path, should_stop: Callable[[], bool] = lambda: False) -> list[str] | None:
    """Return the paths of new, not ignored files, relative to the folder."""
    return _listed(folder, should_stop, "-o", "--exclude-standard")


def sparse_paths(folder: Path, should_stop: Callable[[], bool] = lambda: False) -> frozenset[str]:
    """Return the tracked paths that a sparse checkout leaves out, relative to the folder."""
    top = top_of(folder)
    # Asking git takes as long as listing the files did.
    if top is None or not any((place / "info/sparse-checkout").exists() for place in git_folders(top)):
        return frozenset()
    tagged = _listed(folder, should_stop, "-t", "-c") or ()
    return frozenset(line.removeprefix("S ") for line in tagged if line.startswith("S "))


def is_bare(folder: Path) -> bool:
    """Return whether the `.git` of a folder, or of a parent, is configured to have no files."""
    return top_of(folder) is not None and query(folder, ("config", "--type=bool", "core.bare")) == b"true\n"


def ignored_paths(folder: Path, should_stop: Callable[[], bool] = lambda: False) -> list[str] | None:
    """Return the paths that git ignores, relative to the folder; a folder ignored as a whole once, with a "/" behind.

    What lies in a repository inside the folder is that repository's to ignore, and not listed.
    """
    listed = _listed(folder, should_stop, "-oi", "--exclude-standard", "--directory")
    if listed is None:
        return None
    listed.sort()
    # A folder that only happens to contain nothing else is listed too, followed by its contents.
    return [
        path
        for path, after in zip(listed, [*listed[1:], ""], strict=False)
        if not (path.endswith("/") and after.startswith(path))
    ]


def _listed(folder: Path, should_stop: Callable[[], bool], *options: str) -> list[str] | None:
    listed = query(folder, ("ls-files", *options, "-z"), timeout_s=LIST_TIMEOUT_S, should_stop=should_stop)
    return None if listed is None else [os.fsdecode(path) for path in listed.split(b"\0") if path]


def state(folder: Path) -> GitState | None:
    """Return the branch and the number of changed paths."""
    answer = query(
        folder,
        ("status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--ignore-submodules=all", "--", "."),
        without_filters(folder),
    )
    if answer is None:
        return None
    records = [os.fsdecode(record) for record in answer.split(b"\0") if record]
    headers = dict(record[2:].split(" ", 1) for record in records if record.startswith("# "))
    branch = headers.get("branch.head", _DETACHED)
    if branch == _DETACHED:
        branch = headers.get("branch.oid", "")[:8] or _DETACHED
    return GitState(branch, sum(not record.startswith("#") for record in records))


def work_tree(git_folder: Path) -> Path | None:
    """Return the folder that a repository's own configuration names as its work tree, links resolved; None without."""
    for name in ("config.worktree", "config"):
        file = git_folder / name
        with suppress(OSError, ValueError):
            # Few repositories have the setting, and starting git takes longer than reading a file.
            if b"worktree" in read_small_file(file, _CONFIG_BYTES).lower():
                command = ("config", "--file", str(file), "--get", "-z", "core.worktree")
                named = os.fsdecode(query(Path(file.anchor), command) or b"").rstrip("\0")
                if named:
                    return Path(os.path.realpath(git_folder / named))
    return None


def plain_init(command: str) -> tuple[str, str] | None:
    """Return what a shell command that begins with a plain `git init` asks for; None for any other command.

    Returns:
        The name of the first branch, empty for git's own choice; and what is to run afterwards.
    """
    found = _PLAIN_INIT.fullmatch(command)
    return None if found is None else ((_BRANCH.findall(found[1]) or [""])[-1], (found[2] or "").strip())


def initialise(top: Path, branch: str = "") -> str | None:
    """Make a folder a repository; returns what git prints, None when it fails.

    Args:
        top: A folder without `.git`.
        branch: Name of the first branch; git's own choice if empty.
    """
    announce(top / ".git")
    printed = query(top, ("init", *((f"--initial-branch={branch}",) if branch else ())))
    return None if printed is None else os.fsdecode(printed)


def without_filters(folder: Path) -> dict[str, str]:
    """Return settings that disable every configured filter: a status would run them on files that look changed."""
    names = query(folder, ("config", "--list", "--name-only", "-z")) or b""
    filters = {key.rsplit(".", 1)[0] for key in os.fsdecode(names).split("\0") if key.lower().startswith("filter.")}
    return {
        f"{name}.{key}": value
        for name in sorted(filters)
        for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    }


def query(
    folder: Path,
    command: Sequence[str],
    settings: Mapping[str, str] | None = None,
    timeout_s: float = GIT_TIMEOUT_S,
    should_stop: Callable[[], bool] = lambda: False,
    stdin: bytes = b"",
    wrapper: Sequence[str] = (),
) -> bytes | None:
    """Return the output of git; None when it is missing, fails, takes too long or was stopped.

    Args:
        folder: Where it runs.
        command: A query with its options; none that runs textconv, external diff or signature programs.
        settings: Further settings, such as those of `without_filters`.
        timeout_s: How long it may take.
        should_stop: Polled.
        stdin: Its input.
        wrapper: A command that runs the one behind it, such as in a sandbox.
    """
    program = find_program("git")
    if program is None or _would_wait(folder):
        return None
    try:
        process = subprocess.Popen(
            [*wrapper, program, "--no-pager", *command],
            cwd=folder,
            env=_environment({**_GUARDS, **(settings or {})}),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    with process:
        try:
            printed = _printed(process, stdin, time.monotonic() + timeout_s, should_stop)
        finally:
            process.kill()  # does nothing when it has ended
        return printed if process.wait() == 0 else None


def run_with_keys(
    folder: Path, command: Sequence[str], settings: Mapping[str, str], variables: Mapping[str, str], stdin: bytes
) -> tuple[bytes | None, str]:
    """Run a git command that signs: with the user's keys and agent, and time for them to enter a passphrase.

    It has no terminal, which a question about a passphrase would share with the app.

    Args:
        folder: Where it runs.
        command: The command with its options.
        settings: Further settings; they say which program signs.
        variables: Further environment variables.
        stdin: Its input.

    Returns:
        Its output, None when it failed; and what it says about that.
    """
    program = find_program("git")
    if program is None or _would_wait(folder):
        return None, "git does not answer"
    keys = {key: os.environ[key] for key in _FOR_KEYS if key in os.environ}
    try:
        done = subprocess.run(
            [program, "--no-pager", *command],
            cwd=folder,
            env={**_environment({**_GUARDS, **settings}), **keys, **variables},
            input=stdin,
            capture_output=True,
            timeout=_SIGN_S,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"no signature came within {_SIGN_S} s"
    except OSError as error:
        return None, error.strerror or str(error)
    return None if done.returncode else done.stdout, done.stderr.decode("utf-8", "replace")


def _printed(
    process: subprocess.Popen[bytes], stdin: bytes, deadline: float, should_stop: Callable[[], bool]
) -> bytes | None:
    """Return all output of a process until it ends; None after the deadline, on a stop, or when it does nothing."""
    began = since = time.monotonic()
    worked: object = None
    given: bytes | None = stdin or None
    while time.monotonic() < deadline and not should_stop():
        try:
            return process.communicate(given, timeout=_POLL_S)[0]
        except subprocess.TimeoutExpired:
            given = None  # it is being written, and may be passed only once
            if time.monotonic() - began < _TRUSTED_S:
                continue
            now = _work(process)
            if now != worked:
                worked, since = now, time.monotonic()
            elif time.monotonic() - since > _STALLED_S:
                return None
    return None


def _work(process: subprocess.Popen[bytes]) -> object:
    """Return a value that changes while a process computes or reads: both cause context switches."""
    import psutil  # importing it takes longer than git takes for most folders

    try:
        seen = psutil.Process(process.pid)
        return seen.num_ctx_switches(), seen.cpu_times()[:2]
    except psutil.Error:
        # It has ended, or may not be inspected: only the deadline counts then.
        return time.monotonic()


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a git call. Settings are GIT_CONFIG_n, which accepts names that `-c` misparses."""
    passed_on = {key: os.environ[key] for key in _PASSED_ON if key in os.environ}
    config = {"GIT_CONFIG_COUNT": str(len(settings))}
    for index, (key, value) in enumerate(settings.items()):
        config |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return {**passed_on, **_ENVIRONMENT, **config}
