"""A home folder with credentials, a repository, and other processes of the same user, for one attempt to escape."""

import codecs
import contextlib
import importlib
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from laguna_tui.sandbox.launch import prepare
from laguna_tui.sandbox.native import landlock_ruleset
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy

# Loaded now: another user may not be able to read the folder of this Python.
codecs.lookup("ascii")
importlib.import_module("psutil")

NOBODY = 65534
SECRET = "the-secret-of-this-test"
EVIL = "planted-by-the-command"
LIMIT_S = 30
SHELL = "/bin/sh"
PYTHON = next((path for path in ("/usr/bin/python3", "/usr/local/bin/python3") if Path(path).exists()), sys.executable)

_SECRETS = (
    ".ssh/id_ed25519 .aws/credentials .netrc .gnupg/key .config/gh/hosts.yml .docker/config.json .bash_history "
    ".mozilla/firefox/p/logins.json .config/laguna-tui/permissions.toml .local/state/laguna-tui/log .npmrc "
    ".pulumi/credentials.json .config/argocd/config .config/nushell/history.txt .rediscli_history"
)
_VICTIM = """
import ctypes, os, signal, sys, time
ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(2**64 - 1), 0, 0, 0)
held = ctypes.create_string_buffer(sys.argv[1].encode())
print(ctypes.addressof(held), flush=True)
time.sleep(60)
"""


@cache
def outside_tmp() -> Path:
    """A folder for worlds that no sandbox replaces as a whole."""
    for place in ("/var/lib", "/srv", "/opt", str(Path.home() / ".cache"), str(Path.cwd())):
        with contextlib.suppress(OSError):
            Path(place).mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=place):
                return Path(place)
    return Path(tempfile.gettempdir())


@dataclass
class World:
    base: Path
    victim: "subprocess.Popen[str] | None" = None
    address: int = 0
    terminal: int | None = None
    closing: list = field(default_factory=list)
    ports: dict = field(default_factory=dict)

    @property
    def home(self):
        return self.base / "home"

    @property
    def workspace(self):
        return self.base / "workspace"

    @property
    def outside(self):
        return self.base / "outside"

    @property
    def worktree(self):
        return self.base / "worktree"

    def text(self, path):
        """The contents of a file of the world; empty when it is not there."""
        with contextlib.suppress(OSError):
            return (self.base / path).read_text()
        return ""

    def configure(self, own, users, path):
        """Add to git's configuration of the repository and of the user, and make a file that it names."""
        for config, text in ((self.workspace / ".git/config", own), (self.home / ".gitconfig", users)):
            with config.open("a") as file:
                file.write(f"{self.filled(text)}\n")
        named = self.workspace / path
        named.parent.mkdir(parents=True, exist_ok=True)
        named.write_text("# mine\n")
        named.chmod(0o755)

    def filled(self, code):
        """The code with the world's places in it."""
        values = {
            "HOME": self.home,
            "WS": self.workspace,
            "OUT": self.outside,
            "MAIN": self.workspace,
            "PID": self.victim.pid if self.victim else 0,
            "ADDRESS": self.address,
            "SECRET": SECRET,
            "EVIL": EVIL,
            "PYTHON": PYTHON,
            "NAME": self.base.name,
            **self.ports,
        }
        for name, value in values.items():
            code = code.replace(f"@{name}@", str(value))
        return code


def repository(folder):
    """What `git init` makes, without starting git."""
    for name in ("objects", "refs/heads", "hooks", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")


def build(base):
    world = World(base)
    for folder in (world.home, world.outside, world.workspace / "nested", world.workspace / "scripts"):
        folder.mkdir(parents=True)
    for path in _SECRETS.split():
        (world.home / path).parent.mkdir(parents=True, exist_ok=True)
        (world.home / path).write_text(SECRET)
    (world.home / ".bashrc").write_text("# mine\n")
    (world.outside / "victim").write_text("mine\n")
    workspace = world.workspace
    files = {"a.txt": "a\n", "AGENTS.md": "mine\n", "nested/AGENTS.md": "mine\n", "nested/b.txt": "b\n"}
    files |= {".github/CODEOWNERS": "x\n", ".husky/pre-push": "mine\n", "scripts/hooks/pre-push": "mine\n"}
    for path, text in files.items():
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_text(text)
    (workspace / "CLAUDE.md").symlink_to("AGENTS.md")
    own = workspace / ".git"
    repository(own)
    with (own / "config").open("a") as config:
        config.write("\thooksPath = scripts/hooks\n")
    repository(workspace / "vendor/.git")
    (own / "worktrees/worktree").mkdir(parents=True)
    world.worktree.mkdir()
    pointers = {"HEAD": "ref: refs/heads/other\n", "commondir": "../..\n", "gitdir": f"{world.worktree}/.git\n"}
    for name, text in pointers.items():
        (own / "worktrees/worktree" / name).write_text(text)
    (world.worktree / ".git").write_text(f"gitdir: {own}/worktrees/worktree\n")
    return world


def populate(world, needs):
    """Start what an attempt needs outside: a process, or listeners."""
    if "victim" in needs:
        environment = {**os.environ, "TOKEN": SECRET}
        command = [PYTHON, "-c", _VICTIM, SECRET]
        world.victim = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=world.outside)
        world.address = int(world.victim.stdout.readline())
        world.closing.append(world.victim.kill)
    if "terminal" in needs:
        own_terminal(world)
    if "sockets" in needs:
        listen(world)


def listen(world):
    kinds = {
        "TCP4": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        "UDP4": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        "TCP6": (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
        "UDP6": (socket.AF_INET6, socket.SOCK_DGRAM, ("::1", 0)),
        "UNIX": (socket.AF_UNIX, socket.SOCK_STREAM, str(world.home / ".docker/docker.sock")),
        "AGENT": (socket.AF_UNIX, socket.SOCK_STREAM, str(world.outside / "agent.sock")),
        "INSIDE": (socket.AF_UNIX, socket.SOCK_STREAM, str(world.workspace / "dev.sock")),
        "DGRAM": (socket.AF_UNIX, socket.SOCK_DGRAM, str(world.outside / "log.sock")),
        "ABSTRACT": (socket.AF_UNIX, socket.SOCK_STREAM, f"\0{world.base.name}"),
    }
    for name, (family, kind, address) in kinds.items():
        try:
            made = socket.socket(family, kind)
            made.bind(address)
        except OSError:
            continue  # a machine without IPv6
        if kind == socket.SOCK_STREAM:
            made.listen()
        made.settimeout(0.2)  # the command has ended: what it sent is there
        world.closing.append(made.close)
        world.ports[name] = made.getsockname()[1] if family != socket.AF_UNIX else address.replace("\0", "")
        world.ports[f"{name}-socket"] = made


def own_terminal(world):
    """Make a new terminal this process's own, as a user's is; the commands inherit it."""
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # sent when the terminal is closed
    master, slave = os.openpty()
    os.close(os.open(os.ttyname(slave), os.O_RDWR))
    world.terminal = slave
    world.closing.append(lambda: os.close(master))


def run_outside(world, command, folder):
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "TOKEN": SECRET},
        stdin=subprocess.DEVNULL if world.terminal is None else world.terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=world.terminal is None,
        text=True,
    )
    return finish(process)


def run_inside(status, command, folder, *, policy=None, terminal=None, direct=False):
    """Run a command in the sandbox as the command runner does; returns its output and what it made."""
    os.environ["TOKEN"] = SECRET
    with prepare(status, policy or SandboxPolicy(folder), command, folder=folder) as prepared:
        argv, first = list(prepared.argv), None
        if direct and status.kind is SandboxKind.LANDLOCK:
            # The interpreter of the tests may be out of this user's reach; a fork of it is not.
            rest = argv[argv.index("laguna_tui.sandbox.native.landlock_ruleset") + 1 :]
            argv, first = ["true"], lambda: landlock_ruleset.main(rest)
        process = subprocess.Popen(
            argv,
            cwd=prepared.cwd,
            env=prepared.env,
            pass_fds=prepared.pass_fds,
            stdin=subprocess.DEVNULL if terminal is None else terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=terminal is None,
            preexec_fn=first and (lambda: (os.environ.clear(), os.environ.update(prepared.env), first())),  # noqa: PLW1509
            text=True,
        )
        prepared.watch(process.pid)
        output = finish(process)
        return output, prepared.cleanup()


def finish(process):
    try:
        return process.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0] + "\n(killed)"


class Forked:
    """`work(base)` in a forked process as a user (None: this one), in a new folder."""

    def __init__(self, uid, work):
        self._base = Path(tempfile.mkdtemp(prefix="escape-", dir=outside_tmp()))
        if uid is not None:
            os.chown(self._base, uid, uid)
        self.reader, writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _be_forked(self._base, uid, work, self.reader, writer)
        os.close(writer)

    def text(self):
        """Wait for the end; the JSON text of its value, empty if the process died."""
        try:
            with os.fdopen(self.reader) as answer:
                text = answer.read()
            os.waitpid(self._pid, 0)
        finally:
            shutil.rmtree(self._base, ignore_errors=True)
        return text


def _be_forked(base, uid, work, reader, writer):
    code = 1
    try:
        os.close(reader)
        if uid is not None:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
        enter(base)
        with os.fdopen(writer, "w") as out:
            json.dump(work(base), out)
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def enter(base):
    """Make the world's home this process's."""
    for name in [name for name in os.environ if name.startswith(("XDG_", "GIT_", "PYTHON"))]:
        del os.environ[name]
    os.environ["HOME"] = str(base / "home")
    os.environ["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    os.chdir(base)
    with contextlib.suppress(KeyError):
        pwd.getpwuid(os.getuid())


def attempt(base, made, status):
    """Try to escape; returns whether it succeeded, and the output."""
    world = build(base)
    try:
        populate(world, made.needs)
        folder = world.worktree if "worktree" in made.needs else world.workspace
        code = world.filled(made.code)
        if made.prepare is not None:
            made.prepare(world)
        if made.python:
            (folder / "attempt.py").write_text(code)
        command = (PYTHON, "attempt.py") if made.python else (SHELL, "-c", code)
        if status is None:
            output = run_outside(world, command, folder)
        else:
            status = SandboxStatus(SandboxKind(status["kind"]), "", program=status["program"])
            output, _ = run_inside(status, command, folder, terminal=world.terminal, direct=os.getuid() == NOBODY)
        time.sleep(made.after_s)
        escaped = "ESCAPED" in output.splitlines() if made.check is None else bool(made.check(world))
        return {"escaped": escaped, "output": output}
    finally:
        for close in world.closing:
            close()
