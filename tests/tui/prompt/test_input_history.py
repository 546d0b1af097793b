"""The input history survives the app, stays private and never gets in the way."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from laguna_tui.tui.prompt.input_history import FILE, MAX_ENTRIES, InputHistory
from tests.app.odd_files import huge, odd
from tests.tui.pilot import ready, running


def test_inputs_come_back_in_the_next_run(tmp_path: Path) -> None:
    InputHistory(tmp_path).add("one\ntwo „日本“")
    assert InputHistory(tmp_path).entries == ["one\ntwo „日本“"]


def test_the_file_is_private(tmp_path: Path) -> None:
    InputHistory(tmp_path / "state").add("secret")
    assert (tmp_path / "state" / FILE).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_walking_keeps_the_draft() -> None:
    history = InputHistory(None)
    history.add("a")
    history.add("b")
    assert [history.older("draft"), history.older("b"), history.older("a")] == ["b", "a", None]
    assert [history.newer(), history.newer(), history.newer()] == ["b", "draft", None]


def test_repeats_and_blanks_are_not_kept() -> None:
    history = InputHistory(None)
    for text in ("a", "a", "  ", "b"):
        history.add(text)
    assert history.entries == ["a", "b"]


def test_it_is_bounded(tmp_path: Path) -> None:
    history = InputHistory(tmp_path)
    history.entries = [str(number) for number in range(MAX_ENTRIES)]
    history.add("new")
    assert len(InputHistory(tmp_path).entries) == MAX_ENTRIES
    assert InputHistory(tmp_path).entries[-1] == "new"


def test_sessions_at_the_same_time_keep_what_the_others_typed(tmp_path: Path) -> None:
    InputHistory(tmp_path).add("before")
    one, other = InputHistory(tmp_path), InputHistory(tmp_path)
    one.add("one")
    other.add("other")
    one.add("one more")
    assert InputHistory(tmp_path).entries == ["before", "one", "other", "one more"]
    assert one.entries == ["before", "one", "other", "one more"]


def test_what_many_sessions_type_at_once_is_all_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("laguna_tui.tui.prompt.input_history._LOCK_S", 60.0)

    def type_all(name: str) -> None:
        history = InputHistory(tmp_path)
        for number in range(20):
            history.add(f"{name}{number}")

    with ThreadPoolExecutor(4) as sessions:
        list(sessions.map(type_all, "abcd"))
    entries = InputHistory(tmp_path).entries
    assert sorted(entries) == sorted(f"{name}{number}" for name in "abcd" for number in range(20))
    for name in "abcd":
        assert [entry for entry in entries if entry[0] == name] == [f"{name}{number}" for number in range(20)]


def test_what_could_not_be_written_is_written_with_the_next_input(tmp_path: Path) -> None:
    InputHistory(tmp_path).add("before")
    history = InputHistory(tmp_path)
    with FileLock(f"{tmp_path / FILE}.lock"):
        history.add("a")
    assert InputHistory(tmp_path).entries == ["before"]
    history.add("b")
    assert InputHistory(tmp_path).entries == ["before", "a", "b"]


def test_a_damaged_file_loses_only_its_damaged_lines(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('"good"\n{torn\n42\n"also"\n')
    assert InputHistory(tmp_path).entries == ["good", "also"]


def test_a_folder_that_cannot_be_written_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = InputHistory(tmp_path / "file")
    history.add("a")
    assert history.entries == ["a"]


@pytest.mark.parametrize("leaving", ["ctrl+c", "ctrl+q"])
async def test_what_was_typed_and_not_sent_comes_back(chat, tmp_path: Path, leaving: str) -> None:
    async with running(chat(), state_dir=tmp_path) as (app, pilot):
        await ready(app, pilot)
        app.prompt.replace_text("a long\ndraft")
        await pilot.press("ctrl+c")
        assert app.prompt.text == ""
        await pilot.press("up")
        assert app.prompt.text == "a long\ndraft"
        app.prompt.replace_text("another draft")
        await pilot.press(leaving, leaving)
        await pilot.pause()
    assert InputHistory(tmp_path).entries == ["a long\ndraft", "another draft"]


@pytest.mark.timeout(30)
@odd
def test_what_is_no_history_is_passed_over_and_no_file_takes_its_place(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / FILE)
    before = (tmp_path / FILE).lstat()
    history = InputHistory(tmp_path)
    assert history.entries == []
    history.add("a")
    assert history.entries == ["a"]
    if make is huge:
        assert InputHistory(tmp_path).entries == ["a"]
    else:
        assert (tmp_path / FILE).lstat() == before
