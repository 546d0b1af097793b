"""What `doctor --fix` puts right, and what it leaves alone."""

import stat
import sys
from pathlib import Path

import pytest

from laguna_tui.base.paths import config_path, state_dir
from laguna_tui.cli.main import main
from laguna_tui.machine.doctor.repairs import permission_repairs
from laguna_tui.machine.setup_gpu.installer import interrupted_setup
from laguna_tui.machine.setup_gpu.pip import PythonEnvironment
from laguna_tui.machine.setup_gpu.rollback import Rollback
from tests.app.machine.doctor.simulated import Simulated
from tests.app.machine.setup_gpu import fake_builds


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for kind in ("CACHE", "CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    monkeypatch.setattr("laguna_tui.cli.doctor.Host", Simulated)
    return tmp_path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_own_folders_and_files_are_opened_to_their_owner(capsys: pytest.CaptureFixture[str]):
    state_dir().mkdir(parents=True)
    config_path().parent.mkdir(parents=True)
    config_path().write_text('theme = "auto"\n')
    state_dir().chmod(0o500)
    config_path().chmod(0o044)
    main(["doctor", "--fix"])
    said = capsys.readouterr().err
    assert f"fixed: you can use {state_dir()} again" in said
    assert f"fixed: you can read {config_path()} again" in said
    assert (mode(state_dir()), mode(config_path())) == (0o700, 0o644)
    main(["doctor", "--fix"])
    assert capsys.readouterr().err == "nothing was changed\n"


def test_nothing_is_changed_without_the_flag():
    state_dir().mkdir(parents=True)
    state_dir().chmod(0o500)
    main(["doctor"])
    assert mode(state_dir()) == 0o500


def test_what_a_link_leads_to_is_left_alone(home: Path):
    elsewhere = home / "elsewhere"
    elsewhere.mkdir(mode=0o500)
    state_dir().parent.mkdir(parents=True)
    state_dir().symlink_to(elsewhere)
    assert list(permission_repairs()) == []


def test_the_build_before_an_interrupted_setup_is_restored(home: Path, monkeypatch, capsys):
    python = fake_builds.environment(home, fake_builds.wheel(home / "old", fake_builds.CPU))
    environment = PythonEnvironment.of(python)
    monkeypatch.setattr(PythonEnvironment, "of", classmethod(lambda cls: environment))
    monkeypatch.setattr(sys, "prefix", environment.prefix)
    rollback = Rollback(state_dir(), environment.prefix)
    rollback.prepare()
    rollback.set_aside(rollback.begin(environment.site, "cu124", ()))
    main(["doctor", "--fix"])
    assert "fixed: the build before an interrupted setup is restored" in capsys.readouterr().err
    assert fake_builds.says(python) == fake_builds.CPU
    assert list(interrupted_setup()) == []
