"""The profile of macOS' sandbox-exec for a policy.

Everything is refused, and what a build or a test needs is allowed; the last rule that matches an operation decides.
Rules for paths hold for files that do not exist too, at any depth, so nothing has to be mounted.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from laguna_tui.repo.files.protected_paths import protected_names
from laguna_tui.sandbox.protected import ProtectedFiles
from laguna_tui.sandbox.sandbox_policy import SandboxPolicy

PROGRAM = "/usr/bin/sandbox-exec"
"""By its full path: the PATH may lead into the user's folder."""

_BASE = """\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow file-read* file-test-existence)
(allow file-ioctl (literal "/dev/null") (literal "/dev/dtracehelper"))
(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/dtracehelper"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow mach-lookup (global-name "com.apple.system.logger"))
(allow mach-lookup (global-name "com.apple.bsd.dirhelper"))
"""
_NETWORK = """\
(allow network-outbound (remote ip))
(allow network-inbound (local ip))
(allow network-bind (local ip))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow system-socket (socket-domain AF_ROUTE))
(allow mach-lookup (global-name "com.apple.SecurityServer") (global-name "com.apple.trustd.agent"))
"""
_GIT = ("config", "config.worktree", "hooks", "commondir", "info", "modules")


def seatbelt_profile(policy: SandboxPolicy, files: ProtectedFiles, hidden: Iterable[Path], tmp: Path) -> str:
    """Return the profile.

    Args:
        files: What it cannot change, where links lead too.
    """
    roots = (policy.root,)
    writable = [_subpath(path) for path in (*roots, *sorted(files.git), tmp.resolve())]
    held = [_subpath(path) for path in sorted({*files.held, *files.absent, *files.forbidden})]
    names = [*protected_names(), ".git", *(f".git/{name}" for name in _GIT)]
    patterns = [_pattern(root, name) for root in roots for name in names if name != ".git"]
    pointers = [f'(regex #"^{_escaped(root)}/(.*/)?[.][gG][iI][tT]$")' for root in roots]
    lines = [
        _BASE,
        _NETWORK if policy.network else "(deny network*)\n",
        _rule("allow file-write*", writable),
        # Such a file would stay after the command, and run as its owner or group.
        "(deny file-write-setugid)\n",
        # A folder above something protected must not be moved away, nor git's own.
        _rule("deny file-write-unlink", [*(_literal(path) for path in (*roots, *sorted(files.anchored))), *pointers]),
        _rule("deny file-write*", [*held, *map(_literal, sorted(files.links)), *patterns]),
        _rule(
            "deny file-write-data file-write-create",
            [f"(require-all (vnode-type REGULAR-FILE) {each})" for each in pointers],
        ),
        _rule("deny file-read* file-write*", [_subpath(path) for path in hidden]),
    ]
    return "".join(lines)


def seatbelt_command(profile: str, argv: Sequence[str]) -> tuple[str, ...]:
    """Return the command that runs `argv` under a profile."""
    return (PROGRAM, "-p", profile, "--", *argv)


def _rule(verb: str, filters: Sequence[str]) -> str:
    return "\n  ".join((f"({verb}", *filters)) + ")\n" if filters else ""


def _subpath(path: Path) -> str:
    return f"(subpath {_quoted(path)})"


def _literal(path: Path) -> str:
    return f"(literal {_quoted(path)})"


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _pattern(root: Path, name: str) -> str:
    """Return the filter for a name or glob of the table below a folder, at any depth and in any case."""
    parts = ("[^/]*".join(map(_any_case, part.split("*"))) for part in name.split("/"))
    return f'(regex #"^{_escaped(root)}/(.*/)?{"/".join(parts)}(/|$)")'


def _any_case(text: str) -> str:
    return "".join(f"[{each.lower()}{each.upper()}]" if each.isalpha() else _escaped(each) for each in text)


def _escaped(text: object) -> str:
    return (
        re.sub(r'([][\\.*+?^$(){}|"])', r"[\1]", str(text))
        .replace("[\\]", "\\\\")
        .replace("[^]", "\\^")
        .replace('["]', '\\"')
    )
