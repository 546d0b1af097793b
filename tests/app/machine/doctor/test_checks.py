"""What the doctor says of disk, folders, tools, terminal and environment, on machines that are not here."""

from pathlib import Path

import pytest

from laguna_engine.native.control_groups import MemoryLimit
from laguna_tui.agent.permissions.rule_file import write_check
from laguna_tui.base.paths import config_path, rules_path, state_dir, store_folder, user_catalogue
from laguna_tui.machine.doctor.checks import check_machine, examine, hub_cache
from laguna_tui.machine.doctor.findings import FindingStatus
from laguna_tui.machine.doctor.host import FolderAccess, TerminalFacts, detect_environment
from laguna_tui.machine.doctor.llama_build import LlamaBuild
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus
from tests.app.machine.doctor.simulated import CPU_ONLY, GIB, Simulated


def one(machine, check):
    findings = [finding for finding in examine(machine) if finding.check == check]
    assert len(findings) == 1
    return findings[0]


@pytest.mark.parametrize(
    ("free", "status"),
    [(0.2, FindingStatus.FAIL), (5, FindingStatus.WARN), (100, FindingStatus.OK)],
)
def test_the_disk_is_judged_by_what_a_model_takes(free, status):
    machine = Simulated()
    machine.rooms[str(store_folder())] = FolderAccess("/", False, True, int(free * GIB))
    finding = one(machine, "disk")
    assert finding.status is status
    assert (finding.todo == "") is (status is FindingStatus.OK)


def test_a_containers_limits_are_what_processor_and_memory_are_judged_by():
    machine = Simulated()
    machine.memory_limit, machine.processors = MemoryLimit(2 * GIB, GIB), 2
    assert one(machine, "processor").found.endswith(", 8 cores, 2 of them usable here, AVX2")
    assert one(machine, "memory").found == (
        "2.0 GiB, the limit of the container or service that this runs in; the machine has 32 GiB: too little for"
        " Laguna XS without a graphics card that holds it"
    )
    machine.memory_limit = MemoryLimit(64 * GIB, GIB)
    assert one(machine, "memory").found == "32 GiB"


def test_a_disk_that_does_not_respond_is_a_failure_and_no_hang():
    machine = Simulated()
    machine.folder_access = lambda folder: None
    assert one(machine, "disk").status is FindingStatus.FAIL
    assert "does not respond" in one(machine, "state folder").found


def test_a_read_only_folder_is_reported_with_its_consequence_and_remedy():
    machine = Simulated()
    machine.rooms[str(store_folder())] = FolderAccess("/data", False, False, 100 * GIB)
    finding = one(machine, "models folder")
    assert finding.status is FindingStatus.FAIL
    assert finding.found == "/data is not writable: no model can be downloaded"
    assert "/data" in finding.todo
    assert one(machine, "state folder").status is FindingStatus.OK


def test_a_home_that_is_not_a_folder_has_another_remedy():
    machine = Simulated()
    machine.rooms[str(state_dir())] = FolderAccess("/dev/null", False, False, 100 * GIB)
    finding = one(machine, "state folder")
    assert finding.found == "/dev/null is not a folder: nothing is saved between sessions"
    assert finding.todo == "set HOME to a folder that you own, or XDG_STATE_HOME, XDG_CACHE_HOME and XDG_DATA_HOME"


def test_a_missing_folder_is_fine_if_it_can_be_created():
    machine = Simulated()
    machine.rooms[str(state_dir())] = FolderAccess("/home/someone", False, True, 100 * GIB)
    assert one(machine, "state folder").found.endswith("laguna-tui (not created yet)")


def test_the_hub_cache_is_where_the_environment_says():
    assert str(hub_cache(Simulated(environment={"HF_HOME": "/big/hf"}))) == "/big/hf/hub"
    assert str(hub_cache(Simulated(environment={"HF_HUB_CACHE": "/big/cache"}))) == "/big/cache"
    assert str(hub_cache(Simulated(environment={"XDG_CACHE_HOME": "/c"}))) == "/c/huggingface/hub"


def test_git_that_is_missing_is_a_warning():
    machine = Simulated()
    del machine.commands["git --version"]
    assert one(machine, "git").status is FindingStatus.WARN


def test_a_working_sandbox_is_reported_with_what_it_enforces():
    finding = one(Simulated(), "sandbox")
    assert (finding.status, finding.found) == (FindingStatus.OK, "Commands run under bubblewrap.")


def test_a_missing_sandbox_is_a_warning_with_its_remedy():
    machine = Simulated()
    machine.shown_sandbox = SandboxStatus(SandboxKind.NONE, "Every command asks first.", remedy="install bubblewrap")
    finding = one(machine, "sandbox")
    assert (finding.status, finding.todo) == (FindingStatus.WARN, "install bubblewrap")


def test_what_landlock_does_not_prevent_is_listed():
    machine = Simulated()
    machine.shown_sandbox = SandboxStatus(SandboxKind.LANDLOCK, "Landlock.", ("hooks", "signals"), remedy="do it")
    finding = one(machine, "sandbox")
    assert finding.status is FindingStatus.WARN
    assert finding.found == "Landlock. Not prevented: hooks; signals."


def test_no_color_is_respected_and_reported():
    finding = one(Simulated(environment={"NO_COLOR": "1"}), "colours")
    assert (finding.status, finding.todo) == (FindingStatus.OK, "to turn them on: unset NO_COLOR")


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_dumb_terminal_is_sent_to_ask(term):
    finding = one(Simulated(environment={"TERM": term}), "terminal")
    assert finding.status is FindingStatus.WARN
    assert "laguna-tui ask" in finding.todo


def test_a_pipe_is_not_judged_as_a_terminal():
    machine = Simulated()
    machine.screen = TerminalFacts(False, 80, 24, "utf-8")
    assert one(machine, "terminal").status is FindingStatus.SKIP


def test_a_small_terminal_and_a_foreign_encoding_are_warnings():
    machine = Simulated()
    machine.screen = TerminalFacts(True, 60, 20, "latin-1")
    assert one(machine, "terminal").status is FindingStatus.WARN
    assert "UTF-8 locale" in one(machine, "letters").todo


def test_inside_tmux_over_ssh_both_are_named_with_what_to_set():
    machine = Simulated(environment={"TMUX": "/tmp/x,1,0", "SSH_TTY": "/dev/pts/1", "COLORTERM": "", "TERM": "screen"})
    session = one(machine, "session")
    assert "SSH and tmux" in session.found
    assert "set-clipboard on" in session.todo
    assert "tmux-256color" in one(machine, "colours").todo


def test_a_token_is_never_shown():
    secret = {"HF_TOKEN": "hf_verysecret", "HTTPS_PROXY": "http://user:hunter2@proxy", "HF_ENDPOINT": "https://k:v@h"}
    machine = Simulated(environment={**secret, "HF_HUB_OFFLINE": "1"})
    findings = examine(machine)
    assert one(machine, "hub token").found == "HF_TOKEN is set"
    assert (
        one(machine, "network").found
        == "offline, because HF_HUB_OFFLINE is set; HF_ENDPOINT is set; HTTPS_PROXY is set"
    )
    told = " ".join(f"{finding.found} {finding.todo}" for finding in findings)
    for part in ("verysecret", "hunter2", "k:v"):
        assert part not in told


def test_every_problem_has_a_remedy():
    machine = Simulated({"nvidia-smi": None, "ldconfig -p": ""}, CPU_ONLY, {"TERM": "dumb"}, system="Windows")
    machine.folder_access = lambda folder: None
    machine.screen = TerminalFacts(False, 80, 24, "cp1252")
    bad = [finding for finding in examine(machine) if finding.status in (FindingStatus.WARN, FindingStatus.FAIL)]
    assert len(bad) > 4
    assert [finding.check for finding in bad if not finding.todo] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("this is not toml", "correct the file"),
        ("contxt = 5", "unknown setting contxt"),
        ("threads = 999999", "threads = 999999; it must be between 0"),
        ('theme = "foo"', "theme = 'foo'; it must be one of auto, laguna-dark"),
        ('kv = "\ufffd"', "is not UTF-8 text"),
    ],
)
def test_settings_with_a_mistake_are_a_failure_that_names_it(text, found):
    finding = one(Simulated(files={**CPU_ONLY, str(config_path()): text}), "settings")
    assert finding.status is FindingStatus.FAIL
    assert found in finding.found
    assert str(config_path()) in finding.found + finding.todo


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[models", "cannot be read as a model catalogue"),
        ("[models.nano]\ncontxt = 5", "[models.nano] "),
        ("[models.nano]\ncontext = -5", "[models.nano] "),
    ],
)
def test_a_catalogue_of_the_user_with_a_mistake_is_a_failure_that_names_it(text, found):
    finding = one(Simulated(files={**CPU_ONLY, str(user_catalogue()): text}), "own models")
    assert finding.status is FindingStatus.FAIL
    assert found in finding.found


def test_rules_with_a_mistake_are_a_failure_that_names_it():
    text = '[rules]\ndeny = ["shel(rm …)"]'
    finding = one(Simulated(files={**CPU_ONLY, str(rules_path()): text}), "permissions")
    assert finding.status is FindingStatus.FAIL
    assert "shel(rm …)" in finding.found
    right = Simulated(files={**CPU_ONLY, str(rules_path()): '[rules]\ndeny = ["shell(rm …)"]'})
    assert one(right, "permissions").status is FindingStatus.OK


def test_the_users_files_without_a_mistake_pass():
    files = {str(config_path()): "context = 65536", str(user_catalogue()): "[models.nano]\ncontext = 2048"}
    machine = Simulated(files={**CPU_ONLY, **files})
    assert one(machine, "settings").status is one(machine, "own models").status is FindingStatus.OK
    machine.rooms["*"] = FolderAccess("/", False, True, 100 * GIB)
    assert one(machine, "settings").status is one(machine, "own models").status is FindingStatus.OK


def test_the_project_check_and_the_rules_of_the_folder_are_named(tmp_path, monkeypatch):
    (tmp_path / "Cargo.toml").write_text("")
    (tmp_path / ".laguna-tui.toml").write_text('[rules]\ndeny = ["delete"]\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    assert one(Simulated(), "project check").found == "cargo test, because there is a Cargo.toml"
    assert one(Simulated(), "rules here").found.startswith("0 allow, 0 ask, 1 deny;")


def test_the_check_that_the_user_chose_is_named(tmp_path, monkeypatch):
    (tmp_path / "Cargo.toml").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path.parent / f"{tmp_path.name}-config"))
    monkeypatch.chdir(tmp_path)
    write_check(rules_path(), tmp_path, "just test")
    assert one(Simulated(), "project check").found == "just test, because it was chosen for this folder"
    write_check(rules_path(), tmp_path, "")
    found = one(Simulated(), "project check")
    assert found.status is FindingStatus.SKIP
    assert found.found == f"turned off for {tmp_path} in {rules_path()}"


def test_a_missing_check_names_the_file_to_set_one_in(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    assert one(Simulated(), "project check").found == (
        f'none was found in {tmp_path}; to set one, put check = "make test" into the [[folder]] with this path in '
        f"{rules_path()}"
    )


def test_a_broken_file_of_rules_in_the_folder_is_a_failure(tmp_path, monkeypatch):
    (tmp_path / ".laguna-tui.toml").write_text("[rules\n")
    monkeypatch.chdir(tmp_path)
    assert one(Simulated(), "rules here").status is FindingStatus.FAIL
    assert one(Simulated(), "project check").status is FindingStatus.SKIP


@pytest.mark.parametrize(
    ("kernel", "folder", "part"),
    [
        ("5.15.167.4-microsoft-standard-WSL2", "/home/jane/shop", ""),
        ("5.15.167.4-microsoft-standard-WSL2", "/mnt/c/Users/jane/shop", "into your home folder in WSL"),
        ("4.4.0-19041-Microsoft", "/home/jane/shop", "wsl --set-version"),
        ("6.1.0-28-amd64", "/mnt/c/shop", ""),
    ],
)
def test_what_makes_wsl_slow_is_reported(kernel, folder, part, monkeypatch):
    machine = Simulated(files={**CPU_ONLY, "/proc/sys/kernel/osrelease": kernel})
    monkeypatch.setattr(type(machine), "folder", Path(folder), raising=False)
    finding = next(check_machine(machine, LlamaBuild(), detect_environment(machine)))
    assert finding.check == "system"
    assert part in finding.todo
    assert (finding.status is FindingStatus.OK) is (part == "")
