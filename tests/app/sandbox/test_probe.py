"""Which sandbox is chosen, what is said of it, and which commands ask every time."""

from pathlib import Path

import pytest

from laguna_tui.sandbox import probe
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus, approval_reason, explain_failure

NONE = SandboxStatus(SandboxKind.NONE, "Every command needs approval.")
LANDLOCK = SandboxStatus(SandboxKind.LANDLOCK, "")
BUBBLEWRAP = SandboxStatus(SandboxKind.BUBBLEWRAP, "")


@pytest.fixture
def linux(tmp_path, monkeypatch):
    """Probe again, with a bubblewrap that is a script, or none."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(probe, "_FOLDERS", ())

    def probed(script=None, landlock=7):
        monkeypatch.setattr(probe, "landlock_abi", lambda: landlock)
        if script is None:
            monkeypatch.setenv("PATH", str(tmp_path))
        else:
            (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / "bwrap").chmod(0o755)
        return probe._linux()

    return probed


@pytest.mark.skipif(probe.filter_descriptor() is None, reason="bubblewrap runs on Linux")
class TestLinux:
    def test_a_bubblewrap_that_runs_a_program_is_used(self, linux, tmp_path, bubblewrap):
        status = linux(f'exec {bubblewrap.program} "$@"')
        assert (status.kind, status.program) == (SandboxKind.BUBBLEWRAP, str(tmp_path / "bwrap"))

    def test_the_systems_is_preferred_to_one_of_the_project(self, linux, tmp_path, monkeypatch, bubblewrap):
        (tmp_path / "system").mkdir()
        (tmp_path / "system/bwrap").symlink_to(bubblewrap.program)
        monkeypatch.setattr(probe, "_FOLDERS", (str(tmp_path / "system"),))
        assert linux("exit 0").program == str(tmp_path / "system/bwrap")

    def test_a_bubblewrap_whose_mounts_cannot_be_checked_is_not_used(self, linux):
        status = linux("exit 0")
        assert status.kind is not SandboxKind.BUBBLEWRAP
        assert status.tried[0] == "bubblewrap cannot make a sandbox (bubblewrap gives no reason)"

    def test_it_is_tried_with_the_filter_of_commands(self, linux, tmp_path):
        find = 'while [ "$1" != --seccomp ]; do shift; done'
        linux(f'echo "$@" > {tmp_path}/arguments; {find}; wc -c < /dev/fd/$2 > {tmp_path}/size')
        assert "--unshare-net" in (tmp_path / "arguments").read_text()
        assert int((tmp_path / "size").read_text()) > 800

    def test_landlock_is_used_if_bubblewrap_fails_and_the_reason_is_given(self, linux):
        if probe.landlock_abi() < probe.LEAST_ABI:
            pytest.skip("this kernel has no Landlock")
        status = linux("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
        assert status.kind is SandboxKind.LANDLOCK
        assert "every command that may write needs approval" in status.sentence
        assert status.tried and status.gaps and status.remedy
        assert status.limits == (
            f"Commands run under Landlock ({status.tried[0]}). It can neither protect this folder's git hooks and"
            " configuration nor hide files with secrets in it, so every command that may write or read these needs your"
            f" approval. To get a better sandbox, {status.remedy}."
        )
        assert status.brief == (
            "Sandbox (landlock): no network, no credentials, and writes only to this folder and a private temporary"
            " one."
        )

    def test_without_any_sandbox_every_command_asks(self, linux):
        status = linux(None, landlock=0)
        assert status.kind is SandboxKind.NONE
        assert status.sentence == (
            "Commands run without a sandbox, so every command needs approval (bubblewrap is not installed; this kernel "
            "has no Landlock)."
        )
        assert status.limits == (
            "Commands run without a sandbox (bubblewrap is not installed; this kernel has no Landlock), so every"
            " command needs your approval. To get a better sandbox, install bubblewrap with your package manager (apt"
            " install bubblewrap)."
        )
        assert status.brief == ""

    def test_an_old_landlock_is_not_used(self, linux):
        assert linux(None, landlock=2).kind is SandboxKind.NONE


REFUSED = "setting up uid map: Permission denied"


def files(**contents):
    return lambda path: contents.get(Path(path).name, "")


def test_ubuntus_apparmor_is_named_with_its_profile():
    why, todo = explain_failure(REFUSED, files(apparmor_restrict_unprivileged_userns="1"))
    assert "AppArmor" in why
    assert "/etc/apparmor.d/bwrap" in todo


def test_switched_off_user_namespaces_are_named():
    why, todo = explain_failure(REFUSED, files(max_user_namespaces="0"))
    assert why == "user namespaces are switched off"
    assert "sysctl" in todo


def test_any_other_failure_is_quoted():
    why, _ = explain_failure(REFUSED, files())
    assert why == "bubblewrap cannot make a sandbox (setting up uid map: Permission denied)"


def test_this_machine_is_probed_once():
    assert probe.probe_sandbox() is probe.probe_sandbox()


def test_without_a_sandbox_every_command_asks():
    assert approval_reason("ls", NONE) == "there is no sandbox"


def test_under_bubblewrap_rules_decide():
    assert approval_reason("pytest; rm -rf x", BUBBLEWRAP) == ""


@pytest.mark.parametrize("command", ["ls -la", "cat a.txt 'b c'", "grep -rn x .", "wc -l a"])
def test_under_landlock_what_only_reads_may_be_allowed(command):
    assert approval_reason(command, LANDLOCK) == ""


def test_under_landlock_what_reads_files_asks_where_something_in_reach_should_be_hidden():
    reason = "it may read files with secrets, such as .env, and Landlock cannot hide them"
    assert approval_reason("grep -r TOKEN .", LANDLOCK, lambda: reason) == reason
    assert approval_reason("ls -la", LANDLOCK, lambda: reason) == ""
    assert approval_reason("cat .env", BUBBLEWRAP, lambda: reason) == ""


@pytest.mark.parametrize(
    "command",
    [
        *("pytest", "git commit -m x", "make", "", "cat a > b", "ls; rm a", "ls | tee a", "ls $(touch a)", "ls `x`"),
        *(
            "ls\ntouch a",
            "X=1 ls",
            "sort -o a b",
            "find . -delete",
            "sed -i s/a/b/ c",
            "cat <(touch a)",
            "cat 'a",
            "./ls",
        ),
        *("ls && touch a", "ls & touch a", "{ ls }", "env touch a", "sh -c ls", "cp a b", "\\ls"),
    ],
)
def test_under_landlock_everything_else_asks_every_time(command):
    assert approval_reason(command, LANDLOCK) == "it may write, and Landlock protects less"
