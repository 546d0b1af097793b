"""Attempts to escape from the sandbox. Each succeeds outside; `check` looks from outside, else "ESCAPED" is printed."""

import os
import socket
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.app.sandbox.world import EVIL

HOOKS = "git's configuration and hooks, and files that assistants and editors execute"
CMDLINES = "the command lines of your other processes can be read"
ATTRIBUTES = "permissions and times of your files elsewhere can be changed"
LEFT = "programs that it leaves in the background outlive it"
COUNT = "for root, the number of processes is not limited"


@dataclass(frozen=True)
class Attempt:
    """One attempt.

    Attributes:
        name: What it does.
        code: For the shell, or for Python.
        check: Whether it succeeded, seen from outside.
        needs: What must be there: "victim" (a process), "sockets" (listeners), "terminal", "worktree" (run there).
        gap: The named gap of Landlock that lets it succeed there; empty if Landlock holds it.
        gap_of: Who that gap lets through: "root", "user", or both.
        root: Whether only root can do it outside.
        kernel: Whether it needs something that not every kernel has or allows.
        after_s: Seconds to wait before the check.
        alone: Whether it would disturb others at its side: it uses up what they need too.
    """

    name: str
    code: str
    check: Callable | None = None
    needs: tuple[str, ...] = ()
    gap: str = ""
    gap_of: tuple[str, ...] = ("root", "user")
    root: bool = False
    kernel: bool = False
    python: bool = False
    prepare: Callable | None = None
    after_s: float = 0.0
    alone: bool = False


def evil(*paths):
    return lambda world: any(EVIL in world.text(path) for path in paths)


def _sh(name, code, *paths, check=None, **more):
    return Attempt(name, code, check=evil(*paths) if paths else check, **more)


def _py(name, code, *paths, check=None, **more):
    return Attempt(name, code, check=evil(*paths) if paths else check, python=True, **more)


def _planted(name, code, *paths, **more):
    """Something executable in the workspace, which Landlock cannot hold."""
    return _sh(name, code, *paths, gap=HOOKS, **more)


def _reads(name, path):
    return _sh(f"read {name}", f"grep -q @SECRET@ @HOME@/{path} && echo ESCAPED")


def _write(path):
    return f"mkdir -p \"$(dirname '{path}')\"; echo @EVIL@ > '{path}'"


def _received(name):
    """Whether the listener outside got something."""

    def check(world):
        made = world.ports.get(f"{name}-socket")
        if made is None:
            return False
        try:
            if made.type == socket.SOCK_DGRAM:
                return bool(made.recv(100))
            made.accept()[0].close()
        except OSError:
            return False
        return True

    return check


def _connect(name, family, kind, address):
    code = f"import socket; s = socket.socket(socket.{family}, socket.{kind}); s.connect({address}); s.send(b'x')"
    return _py(f"connect {name}", code, check=_received(name), needs=("sockets",), kernel="6" in name)


def _makes(family, protocol=0):
    return f"import socket; socket.socket({family}, socket.SOCK_RAW, {protocol}); print('ESCAPED')"


_LIBC = "import ctypes, os, sys\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.syscall.restype = ctypes.c_long\n"


def _system_call(name, arguments, **more):
    """A system call that answers something else than an error."""
    more.setdefault("kernel", True)
    return _py(
        name, f"{_LIBC}print('ESCAPED' if libc.syscall({arguments}) >= 0 else os.strerror(ctypes.get_errno()))", **more
    )


def _alive(world):
    return world.victim.poll() is None


def _root_file(path):
    return lambda world: _gone_after(path.replace("@NAME@", world.base.name))


def _gone_after(path):
    found = Path(path).exists()
    Path(path).unlink(missing_ok=True)
    return found


def _set_id(world):
    """Whether the command left a file that runs as its owner or group, or with capabilities."""
    found = [path for path in world.workspace.iterdir() if path.is_file() and not path.is_symlink()]
    return any(
        path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID) or "security.capability" in os.listxattr(path)
        for path in found
    )


def _late(world):
    """Whether the file that is written after the command's end appears; a busy machine may take seconds."""
    deadline = time.monotonic() + 6
    while time.monotonic() < deadline and EVIL not in world.text("workspace/late"):
        time.sleep(0.1)
    return EVIL in world.text("workspace/late")


IN_THE_WORKSPACE = (
    _planted("write a hook", _write(".git/hooks/pre-commit"), "workspace/.git/hooks/pre-commit"),
    _planted("set git's fsmonitor", "git config core.fsmonitor @EVIL@", "workspace/.git/config"),
    _planted("append to git's configuration", "echo '# @EVIL@' >> .git/config", "workspace/.git/config"),
    _planted(
        "rename over git's configuration", "echo '#@EVIL@' > .git/x; mv .git/x .git/config", "workspace/.git/config"
    ),
    _planted(
        "put a copy in the place of .git",
        "mv .git gone; cp -r gone .git; echo '#@EVIL@' >> .git/config",
        "workspace/.git/config",
    ),
    _planted(
        "put a folder in the place of the hooks",
        "mv .git/hooks .git/gone; mkdir .git/hooks; echo @EVIL@ > .git/hooks/pre-commit",
        "workspace/.git/hooks/pre-commit",
    ),
    _planted(
        "put a link in the place of the hooks",
        "mkdir evil; echo @EVIL@ > evil/pre-commit; rm -r .git/hooks; ln -s ../evil .git/hooks",
        "workspace/.git/hooks/pre-commit",
    ),
    _planted(
        "write git's configuration through a hard link",
        "ln .git/config other && echo '# @EVIL@' >> other",
        "workspace/.git/config",
    ),
    _planted("lead git to another folder by commondir", "echo @EVIL@ > .git/commondir", "workspace/.git/commondir"),
    _planted("write git's attributes", _write(".git/info/attributes"), "workspace/.git/info/attributes"),
    _planted(
        "write a worktree's configuration", "echo '#@EVIL@' > .git/config.worktree", "workspace/.git/config.worktree"
    ),
    _planted("plant a submodule's repository", _write(".git/modules/m/config"), "workspace/.git/modules/m/config"),
    _planted(
        "write to a hooks folder that is configured",
        _write("scripts/hooks/pre-push"),
        "workspace/scripts/hooks/pre-push",
    ),
    _planted(
        "move the folder around the configured hooks",
        "mv scripts gone; mkdir -p scripts/hooks; echo @EVIL@ > scripts/hooks/pre-push",
        "workspace/scripts/hooks/pre-push",
    ),
    _planted(
        "write a hook of a repository below",
        _write("vendor/.git/hooks/pre-commit"),
        "workspace/vendor/.git/hooks/pre-commit",
    ),
    _planted(
        "move a repository below, and put a copy there",
        "mv vendor gone; cp -r gone vendor; echo '#@EVIL@' >> vendor/.git/config",
        "workspace/vendor/.git/config",
    ),
    _planted("rewrite a worktree's .git file", "echo @EVIL@ > .git", "worktree/.git", needs=("worktree",)),
    _planted(
        "put a folder in the place of a worktree's .git file",
        "rm .git; mkdir .git; echo @EVIL@ > .git/config",
        "worktree/.git/config",
        needs=("worktree",),
    ),
    _planted(
        "write a hook of the repository that a worktree belongs to",
        _write("@MAIN@/.git/hooks/post-checkout"),
        "workspace/.git/hooks/post-checkout",
        needs=("worktree",),
    ),
    _planted(
        "write the configuration of the repository that a worktree belongs to",
        "git config --file @MAIN@/.git/config a.b @EVIL@",
        "workspace/.git/config",
        needs=("worktree",),
    ),
    _planted(
        "lead a worktree to another repository",
        "echo @EVIL@ > @MAIN@/.git/worktrees/worktree/commondir",
        "workspace/.git/worktrees/worktree/commondir",
        needs=("worktree",),
    ),
    *(
        _planted(
            f"write what git's configuration names: {name}",
            _write(path),
            f"workspace/{path}",
            prepare=lambda world, own=own, users=users, path=path: world.configure(own, users, path),
        )
        for name, own, users, path in (
            ("an included file", "[include]\n\tpath = ../conf/more", "", "conf/more"),
            ("a file that the user includes", "", "[include]\n\tpath = @WS@/conf/more", "conf/more"),
            (
                "a file included on a branch",
                "",
                '[includeIf "onbranch:other"]\n\tpath = @WS@/conf/more',
                "conf/more",
            ),
            ("attributes", "[core]\n\tattributesFile = conf/attributes", "", "conf/attributes"),
            ("a monitor", "[core]\n\tfsmonitor = ./tools/monitor", "", "tools/monitor"),
            ("a filter", '[filter "x"]\n\tclean = python3 tools/clean.py --all', "", "tools/clean.py"),
            ("an alias", "", '[alias]\n\tx = "!f() { ./tools/x.sh; }; f"', "tools/x.sh"),
            ("an editor", "", "[core]\n\teditor = 'tools/my editor' --wait", "tools/my editor"),
            ("a template's hook", "", "[init]\n\ttemplateDir = @WS@/template", "template/hooks/pre-commit"),
        )
    ),
    _planted("overwrite instructions for assistants", "echo @EVIL@ > AGENTS.md", "workspace/AGENTS.md"),
    _planted("rename over instructions", "echo @EVIL@ > x; mv -f x AGENTS.md", "workspace/AGENTS.md"),
    _planted(
        "delete instructions and write new ones", "rm -f AGENTS.md; echo @EVIL@ > AGENTS.md", "workspace/AGENTS.md"
    ),
    _planted("write instructions through a link", "echo @EVIL@ > CLAUDE.md", "workspace/AGENTS.md"),
    _planted("write instructions through a new link", "ln -s AGENTS.md x; echo @EVIL@ > x", "workspace/AGENTS.md"),
    # Nothing can be mounted over a link or a name that is not there: what is created is moved away, under Landlock too.
    _sh("put instructions in the place of a link", "rm CLAUDE.md; echo @EVIL@ > CLAUDE.md", "workspace/CLAUDE.md"),
    _planted(
        "move the folder around instructions",
        "mv nested gone; mkdir nested; echo @EVIL@ > nested/AGENTS.md",
        "workspace/nested/AGENTS.md",
    ),
    _sh("write an editor's tasks that are not there", _write(".vscode/tasks.json"), "workspace/.vscode/tasks.json"),
    _sh("rename a folder to an editor's", f"{_write('x/tasks.json')}; mv x .vscode", "workspace/.vscode/tasks.json"),
    _sh("link an editor's folder", f"{_write('x/tasks.json')}; ln -s x .vscode", "workspace/.vscode/tasks.json"),
    _planted("write a hook of husky", _write(".husky/pre-push"), "workspace/.husky/pre-push"),
    _sh("write .envrc", "echo @EVIL@ > .envrc", "workspace/.envrc"),
    _sh("write .gitattributes", "echo @EVIL@ > .gitattributes", "workspace/.gitattributes"),
    _sh("write an MCP server", "echo @EVIL@ > .mcp.json", "workspace/.mcp.json"),
    _sh("write a workflow", _write(".github/workflows/x.yml"), "workspace/.github/workflows/x.yml"),
    _sh(
        "move the folder around the workflows",
        "mv .github gone; mkdir -p .github/workflows; echo @EVIL@ > .github/workflows/x.yml",
        "workspace/.github/workflows/x.yml",
    ),
)

WRITES_ELSEWHERE = (
    _sh("append to .bashrc", "echo @EVIL@ >> @HOME@/.bashrc", "home/.bashrc"),
    _sh("plant a key", "echo @EVIL@ >> @HOME@/.ssh/authorized_keys", "home/.ssh/authorized_keys"),
    _sh("write a file elsewhere", "echo @EVIL@ > @OUT@/victim", "outside/victim"),
    _sh("create a file elsewhere", "echo @EVIL@ > @OUT@/new", "outside/new"),
    _sh("write elsewhere through ..", "echo @EVIL@ > ../outside/victim", "outside/victim"),
    _sh("write elsewhere through a link", "ln -s @OUT@ x; echo @EVIL@ > x/victim", "outside/victim"),
    _sh("write elsewhere through /proc/self/root", "echo @EVIL@ > /proc/self/root@OUT@/victim", "outside/victim"),
    _sh("write elsewhere through /proc/self/cwd", "echo @EVIL@ > /proc/self/cwd/../outside/victim", "outside/victim"),
    _sh(
        "write elsewhere through a process",
        "echo @EVIL@ > /proc/@PID@/root@OUT@/victim",
        "outside/victim",
        needs=("victim",),
    ),
    _sh("write into a process's folder", "echo @EVIL@ > /proc/@PID@/cwd/victim", "outside/victim", needs=("victim",)),
    _sh("write elsewhere through a hard link", "ln @OUT@/victim x && echo @EVIL@ > x", "outside/victim"),
    _sh("rename over a file elsewhere", "echo @EVIL@ > x; mv -f x @OUT@/victim", "outside/victim"),
    _sh("move a file from elsewhere", "mv @OUT@/victim .", check=lambda world: not world.text("outside/victim")),
    _sh("delete a file elsewhere", "rm -f @OUT@/victim", check=lambda world: not world.text("outside/victim")),
    _py(
        "truncate a file elsewhere",
        "import os; os.truncate('@OUT@/victim', 0)",
        check=lambda world: not world.text("outside/victim"),
    ),
    _sh(
        "change permissions elsewhere",
        "chmod 666 @OUT@/victim",
        check=lambda world: (world.outside / "victim").stat().st_mode & 0o777 == 0o666,
        gap=ATTRIBUTES,
    ),
    _sh(
        "change times elsewhere",
        "touch -d 2001-01-01 @OUT@/victim",
        check=lambda world: (world.outside / "victim").stat().st_mtime < 1e9,
        gap=ATTRIBUTES,
    ),
    _sh("write to /etc", "echo @EVIL@ > /etc/@NAME@", check=_root_file("/etc/@NAME@"), root=True),
    _sh("write to /tmp", "echo @EVIL@ > /tmp/@NAME@", check=_root_file("/tmp/@NAME@")),
    _sh("write to /var/tmp", "echo @EVIL@ > /var/tmp/@NAME@", check=_root_file("/var/tmp/@NAME@")),
    _sh("write to shared memory", "echo @EVIL@ > /dev/shm/@NAME@", check=_root_file("/dev/shm/@NAME@")),
    _sh(
        "write a kernel setting",
        "cat /proc/sys/vm/swappiness > x; cat x > /proc/sys/vm/swappiness && echo ESCAPED",
        root=True,
        kernel=True,
    ),
    _sh(
        "write a setting of the system",
        "cat /sys/kernel/mm/ksm/sleep_millisecs > x; cat x > /sys/kernel/mm/ksm/sleep_millisecs && echo ESCAPED",
        root=True,
        kernel=True,
    ),
    _sh("mount over a folder", "unshare -Urm mount -t tmpfs none @OUT@ && echo ESCAPED", kernel=True),
    _sh("remount the system", "unshare -Urm mount --bind @OUT@ @HOME@ && echo ESCAPED", kernel=True),
    _sh("make a user namespace", "unshare -U true && echo ESCAPED", kernel=True),
    _py("change the root", "import os; os.chroot('@OUT@'); print('ESCAPED')", root=True),
    _py("make a device", "import os; os.mknod('x', 0o020666, os.makedev(1, 3)); print('ESCAPED')", root=True),
    _py("become another user", "import os; os.setuid(12345); print('ESCAPED')", root=True),
    _py("give a file away", "import os; os.chown('a.txt', 12345, 12345); print('ESCAPED')", root=True),
    _py("set the clock", "import time; time.clock_settime(0, time.time()); print('ESCAPED')", root=True),
    _py("name the host", "import socket; socket.sethostname(socket.gethostname()); print('ESCAPED')", root=True),
)

SET_ID = tuple(
    _py(name, f"import os\n{code}", check=_set_id, **more)
    for name, code, more in (
        ("have a file run as its owner", "open('x', 'w'); os.chmod('x', 0o4755)", {}),
        ("have a file run as its group", "open('x', 'w'); os.chmod('x', 0o2755)", {}),
        ("have an open file run as its owner", "os.fchmod(os.open('x', os.O_CREAT | os.O_WRONLY), 0o4755)", {}),
        ("create a file that runs as its owner", "os.open('x', os.O_CREAT | os.O_WRONLY, 0o4755)", {}),
        ("make a node that runs as its owner", "os.mknod('x', 0o104755)", {}),
        (
            "name a file that runs as its owner",
            f"{_LIBC}made = os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755)\n"
            "libc.linkat(-100, b'/proc/self/fd/%d' % made, -100, b'x', 0x400)",
            {"kernel": True},
        ),
        (
            "have a file run as its owner by a newer call",
            f"open('x', 'w')\n{_LIBC}libc.syscall(452, -100, b'x', 0o4755, 0)",
            {"kernel": True},
        ),
        (
            "create a file that runs as its owner by a newer call",
            f"{_LIBC}libc.syscall(437, -100, b'x', (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0), 24)",
            {"kernel": True},
        ),
        (
            "give a file capabilities",
            "open('x', 'w'); os.setxattr('x', 'security.capability', bytes.fromhex('0100000202000000') + bytes(12))",
            {"root": True, "kernel": True},
        ),
    )
)

READS = (
    _reads("a private key", ".ssh/id_ed25519"),
    _reads("cloud credentials", ".aws/credentials"),
    _reads(".netrc", ".netrc"),
    _reads("a GnuPG key", ".gnupg/key"),
    _reads("GitHub's token", ".config/gh/hosts.yml"),
    _reads("docker's credentials", ".docker/config.json"),
    _reads("npm's token", ".npmrc"),
    _reads("the shell's history", ".bash_history"),
    _reads("a browser's passwords", ".mozilla/firefox/p/logins.json"),
    _reads("our own permissions", ".config/laguna-tui/permissions.toml"),
    _reads("our own log", ".local/state/laguna-tui/log"),
    _sh("search the home folder", "grep -rqs @SECRET@ @HOME@ && echo ESCAPED"),
    _sh("read a key through a link", "ln -s @HOME@/.ssh x; grep -q @SECRET@ x/id_ed25519 && echo ESCAPED"),
    _sh("read a key through /proc", "grep -q @SECRET@ /proc/self/root@HOME@/.ssh/id_ed25519 && echo ESCAPED"),
    _sh("copy a key by a hard link", "ln @HOME@/.ssh/id_ed25519 x && grep -q @SECRET@ x && echo ESCAPED"),
    _sh("move the keys here", "mv @HOME@/.ssh x && grep -q @SECRET@ x/id_ed25519 && echo ESCAPED"),
    _sh("read the passwords", "grep -q root: /etc/shadow && echo ESCAPED", root=True),
    _sh("see a token in the environment", 'test "$TOKEN" = @SECRET@ && echo ESCAPED'),
    _sh(
        "see a token in the first process",
        "cat /proc/[0-9]*/environ 2>/dev/null | grep -aq TOKEN=@SECRET@ && echo ESCAPED",
    ),
)

PROCESSES = (
    _sh("read a process's environment", "grep -aq @SECRET@ /proc/@PID@/environ && echo ESCAPED", needs=("victim",)),
    _sh(
        "read a process's command line",
        "grep -aq @SECRET@ /proc/@PID@/cmdline && echo ESCAPED",
        needs=("victim",),
        gap=CMDLINES,
    ),
    _sh("see a process's files", "readlink /proc/@PID@/fd/1 && echo ESCAPED", needs=("victim",)),
    _py(
        "read a process's memory",
        "f = open('/proc/@PID@/mem', 'rb', 0); f.seek(@ADDRESS@); print('ESCAPED' * (b'@SECRET@' in f.read(64)))",
        needs=("victim",),
    ),
    _system_call("attach to a process", "101, 0x4206, @PID@, 0, 0", needs=("victim",)),
    _py(
        "read another process's memory by a system call",
        f"{_LIBC}b = ctypes.create_string_buffer(64)\n"
        "class V(ctypes.Structure): _fields_ = [('a', ctypes.c_void_p), ('n', ctypes.c_size_t)]\n"
        "here, there = V(ctypes.addressof(b), 64), V(@ADDRESS@, 64)\n"
        "libc.process_vm_readv(@PID@, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)\n"
        "print('ESCAPED' * (b'@SECRET@' in b.raw))",
        needs=("victim",),
    ),
    _sh("kill a process", "kill -9 @PID@", check=lambda world: not _alive(world), needs=("victim",), after_s=0.2),
    _sh("stop its parent", "kill -0 $PPID && kill -0 @PID@ && echo ESCAPED", needs=("victim",)),
    _py(
        "take a descriptor of a process",
        f"{_LIBC}fd = libc.syscall(434, @PID@, 0)\nprint('ESCAPED' * (libc.syscall(438, fd, 1, 0) >= 0))",
        needs=("victim",),
    ),
    _py(
        "limit a process",
        "import resource; resource.prlimit(@PID@, resource.RLIMIT_CORE, (0, 0)); print('ESCAPED')",
        needs=("victim",),
    ),
    _sh("have a process killed first", "echo 1000 > /proc/@PID@/oom_score_adj && echo ESCAPED", needs=("victim",)),
    _sh(
        "lower a process's priority",
        "renice -n 15 -p @PID@ > /dev/null && echo ESCAPED",
        needs=("victim",),
        gap=CMDLINES,
        gap_of=("user",),
    ),
    _py(
        "make very many processes",
        "import os, signal, sys, time\nmade = []\n"
        "try:\n"
        "    for _ in range(1500):\n"
        "        pid = os.fork()\n"
        "        if pid == 0:\n"
        "            time.sleep(60); os._exit(0)\n"
        "        made.append(pid)\n"
        "except OSError: pass\n"
        "time.sleep(1)\n"
        "if len(made) == 1500: print('ESCAPED', flush=True)\n"
        "for pid in made: os.kill(pid, signal.SIGKILL)\n",
        gap=COUNT,
        gap_of=("root",),
        alone=True,
    ),
    _py(
        "stay after the end",
        "import os, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "for i in range(3): os.close(i)\n"
        "time.sleep(0.7)\n"
        "open('late', 'w').write('@EVIL@')\n",
        check=_late,
        gap=LEFT,
    ),
)

_QUERY = b"\0\1\1\0\0\1\0\0\0\0\0\0\6secret\7example\0\0\1\0\1"
"""A question to a name server: the address of secret.example."""

SOCKETS = (
    _connect("TCP4", "AF_INET", "SOCK_STREAM", "('127.0.0.1', @TCP4@)"),
    _connect("TCP6", "AF_INET6", "SOCK_STREAM", "('::1', @TCP6@)"),
    _connect("UDP4", "AF_INET", "SOCK_DGRAM", "('127.0.0.1', @UDP4@)"),
    _connect("UDP6", "AF_INET6", "SOCK_DGRAM", "('::1', @UDP6@)"),
    _connect("UNIX", "AF_UNIX", "SOCK_STREAM", "'@UNIX@'"),
    _connect("AGENT", "AF_UNIX", "SOCK_STREAM", "'@AGENT@'"),
    _connect("INSIDE", "AF_UNIX", "SOCK_STREAM", "'@INSIDE@'"),
    _connect("DGRAM", "AF_UNIX", "SOCK_DGRAM", "'@DGRAM@'"),
    _connect("ABSTRACT", "AF_UNIX", "SOCK_STREAM", "'\\0@NAME@'"),
    _py(
        "send from one end of a pair",
        "import socket; socket.socketpair(type=socket.SOCK_DGRAM)[0].sendto(b'x', '@DGRAM@')",
        check=_received("DGRAM"),
        needs=("sockets",),
    ),
    _py(
        "ask for a name without connecting",
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        f"s.sendto({_QUERY!r}, ('127.0.0.1', @UDP4@))",
        check=_received("UDP4"),
        needs=("sockets",),
    ),
    _py(
        "ask for a name through a mapped address",
        "import socket; s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n"
        f"s.sendto({_QUERY!r}, ('::ffff:127.0.0.1', @UDP4@))",
        check=_received("UDP4"),
        needs=("sockets",),
        kernel=True,
    ),
    _py(
        "ask for a name while connecting",
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)\n"
        f"s.sendto({_QUERY!r}, socket.MSG_FASTOPEN, ('127.0.0.1', @TCP4@))",
        check=_received("TCP4"),
        needs=("sockets",),
    ),
    _py("make a packet socket", _makes("socket.AF_PACKET"), root=True),
    _py("make a raw socket", _makes("socket.AF_INET", 1), root=True),
    _py(
        "make a virtual machine's socket",
        "import socket; socket.socket(40, socket.SOCK_STREAM); print('ESCAPED')",
        kernel=True,
    ),
    _py(
        "make a socket of the kernel's ciphers",
        "import socket; socket.socket(38, socket.SOCK_SEQPACKET); print('ESCAPED')",
        kernel=True,
    ),
    _py(
        "see the network's interfaces",
        "print('ESCAPED' * (len(open('/proc/net/dev').readlines()) > 3))",
        gap="the machine's network interfaces and connections can be listed",
    ),
)


def _shared_memory(world):
    import ctypes

    libc = ctypes.CDLL(None)
    number = libc.shmget(0, 4096, 0o1600)
    (world.workspace / "shm").write_text(str(number))
    world.closing.append(lambda: libc.shmctl(number, 0, None))


KERNEL = (
    _py(
        "type into the terminal",
        "import fcntl; fcntl.ioctl(0, 0x5412, b'x'); print('ESCAPED')",
        needs=("terminal",),
        kernel=True,
    ),
    _py(
        "change the terminal's line discipline",
        "import fcntl, struct; fcntl.ioctl(0, 0x5423, struct.pack('i', 0)); print('ESCAPED')",
        needs=("terminal",),
    ),
    _system_call("add a key to the key ring", "248, b'user', b'k', b'x', 1, -4 & 0xffffffff"),
    _system_call("load a program into the kernel", "321, 0, (ctypes.c_uint32 * 32)(2, 4, 4, 1), 128", root=True),
    _system_call("handle page faults", "323, 1"),
    _system_call("make an io_uring", "425, 1, ctypes.create_string_buffer(200)"),
    _system_call("measure the machine", "298, (ctypes.c_uint32 * 32)(1, 128), -1, 0, -1, 0", root=True),
    _system_call("read the kernel's log", "103, 10, 0, 0", root=True),
    _system_call("watch all files", "300, 0, 0", root=True),
    _system_call("open a file by its number", "304, -1, 0, 0", root=True),
    _py(
        "attach to shared memory",
        f"{_LIBC}libc.shmat.restype = ctypes.c_long\n"
        "print('ESCAPED' * (libc.shmat(int(open('shm').read()), 0, 0o10000) != -1))",
        prepare=_shared_memory,
    ),
)


ATTEMPTS = (*IN_THE_WORKSPACE, *WRITES_ELSEWHERE, *SET_ID, *READS, *PROCESSES, *SOCKETS, *KERNEL)
