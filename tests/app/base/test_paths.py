"""Folders of the app where the user has no home to write to."""

import os
from pathlib import Path

import pytest

from laguna_tui.base.paths import command_state_dir, state_dir


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/state")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / f"laguna-tui-{os.getuid()}"


def test_what_commands_need_undone_is_noted_in_the_state_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert command_state_dir() == state_dir()
    assert not (tmp_path / "state").exists()


def test_without_a_home_it_is_noted_in_a_private_temporary_folder(homeless: Path) -> None:
    assert command_state_dir() == homeless
    assert homeless.stat().st_mode & 0o777 == 0o700


def test_a_temporary_folder_that_others_can_open_is_refused(homeless: Path) -> None:
    homeless.mkdir()
    homeless.chmod(0o755)
    with pytest.raises(PermissionError) as error:
        command_state_dir()
    assert error.value.strerror == "it is not a private folder of yours"


def test_a_link_in_the_place_of_the_temporary_folder_is_refused(homeless: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    homeless.symlink_to(tmp_path / "theirs")
    with pytest.raises(PermissionError):
        command_state_dir()
