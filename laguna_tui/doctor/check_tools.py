"""Other programs that the app works with: git, and what can shut a command into a sandbox."""

from collections.abc import Iterator

from laguna_tui.doctor.finding import Finding, ok, skip, warn
from laguna_tui.doctor.machine import Machine

_TRIAL = ("bwrap", "--ro-bind", "/", "/", "--unshare-all", "--", "true")
_APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_UNNEEDED = "nothing needs it yet: the tools of this version run no programs"


def check_tools(machine: Machine) -> Iterator[Finding]:
    """One finding each."""
    yield _git(machine)
    yield _sandbox(machine)


def _git(machine: Machine) -> Finding:
    version = machine.run(("git", "--version"))
    if version.good:
        return ok("git", version.text.strip().removeprefix("git version "))
    return warn("git", "not there; what a repository ignores is found out from .gitignore files alone", "install git")


def _sandbox(machine: Machine) -> Finding:
    if machine.system == "Darwin":
        there = machine.program("sandbox-exec") is not None
        return ok("sandbox", "sandbox-exec") if there else skip("sandbox", f"no sandbox-exec; {_UNNEEDED}")
    if machine.program("bwrap") is None:
        return skip("sandbox", f"bubblewrap is not installed; {_UNNEEDED}", "to have it: install bubblewrap")
    if machine.run(_TRIAL).good:
        return ok("sandbox", "bubblewrap works")
    if (machine.read(_APPARMOR) or "").strip() == "1":
        todo = "give bwrap an AppArmor profile with `userns,` (Ubuntu 24.04 and newer need one)"
        return skip("sandbox", f"bubblewrap is there, but AppArmor stops it; {_UNNEEDED}", todo)
    todo = "allow unprivileged user namespaces, or go without"
    return skip("sandbox", f"bubblewrap is there, but cannot make namespaces here; {_UNNEEDED}", todo)
