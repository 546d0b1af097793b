"""What turns did to files goes back and forth exactly; what the user did meanwhile stays until they say otherwise."""

import os
import shutil
import socket
import stat
import threading
from contextlib import closing

import pytest

from laguna_tui.base.change_proposal import ChangeKind
from laguna_tui.base.object_store import OBJECTS, StoreError
from laguna_tui.repo.files.root_folder import MAX_DEPTH
from laguna_tui.undo.file_tree import EntryKind
from laguna_tui.undo.tree_changes import AUTHOR_UNKNOWN
from laguna_tui.undo.undo import CheckpointError, UndoError, UndoHistory
from laguna_tui.undo.undo_log import LOG, STORE, unfinished_stores
from tests.app.odd_files import odd
from tests.app.undo.conftest import run_git
from tests.app.undo.folder_states import put, states


def turn(history, change, paths=None):
    """One turn that makes a change, by a command unless its paths are named."""
    history.begin_turn("do it")
    history.before_change(paths)
    change()
    history.after_change()


def uncovered(history):
    """The files that the last checkpoint does not cover, and why."""
    known = history._reader.known.items()
    return {path: entry.why for path, entry in sorted(known) if entry.kind is EntryKind.UNCOVERED}


def reopened(history):
    """The history as the next process finds it, the one before killed."""
    history._log.close()
    history._store.close()
    return UndoHistory(history._workspace.root, history._store.folder)


def change_everything(root):
    """What a command can do to a folder."""
    (root / "src/main.py").write_text("one\n2\nthree\n")
    (root / "README.md").unlink()
    (root / "run.sh").chmod(0o644)
    (root / "link").unlink()
    (root / "link").symlink_to("README.md")
    (root / "new/deep").mkdir(parents=True)
    (root / "new/deep/file").write_bytes(b"\0\xff")
    (root / "new/link").symlink_to("nowhere")


def test_undo_restores_bytes_modes_and_links_and_removes_new_files(root, history):
    before = states(root)
    turn(history, lambda: change_everything(root))
    after = states(root)
    history.apply(history.plan_undo())
    assert states(root) == before
    history.apply(history.plan_redo())
    assert states(root) == after


def test_undo_lists_each_file_and_what_is_done_with_it(root, history):
    turn(history, lambda: change_everything(root))
    plan = history.plan_undo()
    assert [(file.path, file.action) for file in plan.files if not file.is_folder] == [
        ("README.md", "create"),
        ("link", "restore"),
        ("new/deep/file", "delete"),
        ("new/link", "delete"),
        ("run.sh", "restore"),
        ("src/main.py", "restore"),
    ]
    result = history.apply(plan)
    assert result.restored == ("README.md", "link", "new/deep/file", "new/link", "run.sh", "src/main.py")
    assert not result.skipped


def test_a_folder_gives_way_to_a_file_and_comes_back(root, history):
    def swap():
        shutil.rmtree(root / "src")
        (root / "src").write_text("a file now")
        (root / "README.md").unlink()
        (root / "README.md/inside").mkdir(parents=True)
        (root / "README.md/inside/file").write_text("x")

    before = states(root)
    turn(history, swap)
    after = states(root)
    history.apply(history.plan_undo())
    assert states(root) == before
    history.apply(history.plan_redo())
    assert states(root) == after


def test_an_empty_folder_that_was_there_before_stays(root, history):
    (root / "empty").mkdir()
    turn(history, lambda: (root / "empty/new").write_text("x"))
    history.apply(history.plan_undo())
    assert (root / "empty").is_dir()
    assert not list((root / "empty").iterdir())


def test_a_folder_that_the_user_put_a_file_in_stays_with_it(root, history):
    turn(history, lambda: put(root, "made/file", b"x"))
    put(root, "made/mine", b"mine")
    result = history.apply(history.plan_undo())
    assert [path.name for path in (root / "made").iterdir()] == ["mine"]
    assert result.skipped == {"made": "other files are in it"}


def test_a_moved_folder_moves_back(root, history):
    (root / "src/sub").mkdir()
    (root / "src/sub/old.py").write_text("old")
    long_ago = (1_000_000_000, 1_000_000_000)
    os.utime(root / "src/sub/old.py", long_ago)
    before = states(root)
    turn(history, lambda: (root / "src").rename(root / "lib"))
    history.apply(history.plan_undo())
    assert states(root) == before


def test_turns_are_undone_one_after_another_and_redone_in_their_order(root, history):
    seen = [states(root)]
    for number in range(3):
        turn(history, lambda number=number: (root / "src/main.py").write_text(f"{number}\n"))
        seen.append(states(root))
    for expected in reversed(seen[:-1]):
        history.apply(history.plan_undo())
        assert states(root) == expected
    with pytest.raises(UndoError) as error:
        history.plan_undo()
    assert str(error.value) == "there is nothing to undo in this session"
    for expected in seen[1:]:
        history.apply(history.plan_redo())
        assert states(root) == expected
    with pytest.raises(UndoError) as error:
        history.plan_redo()
    assert str(error.value) == "there is nothing to redo: nothing was undone since the last message"


def test_rewind_goes_back_before_a_turn_and_all_after_it(root, history):
    before = states(root)
    for number in range(3):
        turn(history, lambda number=number: put(root, f"file{number}", b"x"))
    first = history.points()[0]
    result = history.apply(history.plan_rewind(first.number))
    assert states(root) == before
    assert [point.number for point in result.points] == [3, 2, 1]
    assert all(point.undone for point in history.points())


def test_rewind_to_a_missing_turn_is_refused(history):
    history.begin_turn("hello")
    with pytest.raises(UndoError) as error:
        history.plan_rewind(7)
    assert str(error.value) == "there is no turn 7 to go back to; to see the turns: /rewind"


def test_points_are_all_turns_also_those_that_changed_nothing(root, history):
    history.begin_turn("look")
    turn(history, lambda: put(root, "new/file", b"x"))
    look, change = history.points()
    assert (look.title, look.paths, look.ran_commands) == ("look", (), False)
    assert (change.title, change.paths, change.ran_commands) == ("do it", ("new/file",), True)


def test_a_turn_that_changed_nothing_is_undone_without_a_file(root, history):
    history.begin_turn("look")
    plan = history.plan_undo()
    assert not plan.files
    assert [point.title for point in history.apply(plan).points] == ["look"]


def test_a_new_turn_forgets_what_was_undone(root, history):
    turn(history, lambda: put(root, "one", b"1"))
    history.apply(history.plan_undo())
    turn(history, lambda: put(root, "two", b"2"))
    with pytest.raises(UndoError) as error:
        history.plan_redo()
    assert str(error.value) == "there is nothing to redo: nothing was undone since the last message"
    assert [point.number for point in history.points()] == [2]


def test_what_the_user_changed_meanwhile_is_a_conflict_and_stays(root, history):
    turn(history, lambda: change_everything(root))
    (root / "src/main.py").write_text("mine\n")
    plan = history.plan_undo()
    assert [(file.path, file.conflict) for file in plan.conflicts] == [("src/main.py", "it was changed since")]
    result = history.apply(plan)
    assert (root / "src/main.py").read_text() == "mine\n"
    assert result.skipped == {"src/main.py": "it was changed since"}
    assert (root / "README.md").read_text() == "Read me\n"


def test_only_the_named_conflicts_are_overwritten(root, history):
    turn(history, lambda: (put(root, "src/main.py", b"turn"), put(root, "README.md", b"turn")))
    put(root, "src/main.py", b"mine")
    put(root, "README.md", b"mine")
    history.apply(history.plan_undo(), overwrite=["README.md"])
    assert (root / "README.md").read_text() == "Read me\n"
    assert (root / "src/main.py").read_text() == "mine"


def test_redo_brings_back_what_undo_overwrote(root, history):
    turn(history, lambda: put(root, "README.md", b"turn"))
    put(root, "README.md", b"mine")
    history.apply(history.plan_undo(), overwrite=True)
    history.apply(history.plan_redo())
    assert (root / "README.md").read_bytes() == b"mine"


def test_redo_does_not_bring_back_what_the_user_had_undone_already(root, history):
    turn(history, lambda: put(root, "new", b"x"))
    (root / "new").unlink()
    history.apply(history.plan_undo())
    assert not history.plan_redo().files


def test_files_that_the_turn_did_not_touch_are_never_touched(root, history):
    turn(history, lambda: put(root, "README.md", b"turn"))
    put(root, "src/main.py", b"mine")
    put(root, "own/new", b"mine")
    plan = history.plan_undo()
    assert {file.path for file in (*plan.files, *plan.conflicts)} == {"README.md"}


def test_what_the_user_changes_between_two_changes_of_a_turn_is_not_the_turns(root, history):
    history.begin_turn("two steps")
    history.before_change()
    put(root, "README.md", b"turn")
    history.after_change()
    put(root, "src/main.py", b"mine")
    history.before_change()
    put(root, "other", b"turn")
    history.after_change()
    assert history.points()[0].paths == ("README.md", "other")


def test_a_file_that_the_user_changed_in_the_middle_of_a_turn_is_a_conflict(root, history):
    history.begin_turn("two steps")
    for data in (b"turn 1", b"turn 2"):
        history.before_change()
        put(root, "README.md", data)
        history.after_change()
        put(root, "README.md", b"mine" if data == b"turn 1" else data)
    conflict = history.plan_undo().conflicts[0]
    assert (conflict.path, conflict.conflict) == ("README.md", "it was also changed by someone else in between")


def test_without_the_state_after_each_change_the_turn_is_one_change(root, history):
    history.begin_turn("one bracket")
    history.before_change()
    put(root, "README.md", b"turn")
    history.before_change()
    put(root, "README.md", b"turn again")
    history.after_change()
    history.apply(history.plan_undo())
    assert (root / "README.md").read_text() == "Read me\n"


def test_a_plan_is_refused_when_something_was_done_since(root, history):
    turn(history, lambda: put(root, "README.md", b"turn"))
    plan = history.plan_undo()
    history.begin_turn("next")
    with pytest.raises(UndoError) as error:
        history.apply(plan)
    assert str(error.value) == "something was done since this was planned, so nothing was changed; try again"
    assert (root / "README.md").read_bytes() == b"turn"


def test_a_file_changed_between_plan_and_undo_stays(root, history):
    turn(history, lambda: put(root, "README.md", b"turn"))
    plan = history.plan_undo()
    put(root, "README.md", b"mine")
    assert history.apply(plan).skipped == {"README.md": "it was changed since"}
    assert (root / "README.md").read_bytes() == b"mine"


def test_a_file_changed_while_it_is_put_back_stays(root, history, monkeypatch):
    turn(history, lambda: put(root, "README.md", b"turn"))
    plan, real = history.plan_undo(), os.fchmod

    def fchmod(descriptor, mode):
        put(root, "README.md", b"mine, just now")
        real(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", fchmod)
    assert history.apply(plan).skipped == {"README.md": "it was changed since"}
    assert (root / "README.md").read_bytes() == b"mine, just now"


def test_files_come_back_in_a_folder_that_the_user_removed(root, history):
    turn(history, lambda: put(root, "src/main.py", b"turn"))
    shutil.rmtree(root / "src")
    history.apply(history.plan_undo(), overwrite=True)
    assert (root / "src/main.py").read_text() == "one\ntwo\nthree\n"


# What is not covered, and what is covered all the same.


def test_ignored_files_of_commands_stay_which_is_reported(root, history):
    def build():
        put(root, "build/out", b"built again")
        put(root, "build/more", b"x")
        put(root, "old.log", b"logged more")

    turn(history, build)
    result = history.apply(history.plan_undo())
    assert (root / "build/out").read_bytes() == b"built again"
    assert "ignored files" in result.notes[0]


def test_an_edit_of_an_ignored_file_is_undone(root, history):
    turn(history, lambda: put(root, "build/out", b"edited"), paths=["build/out"])
    result = history.apply(history.plan_undo())
    assert (root / "build/out").read_text() == "built\n"
    assert not result.notes


def test_files_that_a_turn_made_git_see_are_not_removed(root, history):
    turn(history, lambda: (root / ".gitignore").write_text(""))
    history.apply(history.plan_undo())
    assert (root / "build/out").read_text() == "built\n"
    assert (root / "old.log").read_text() == "logged\n"


def test_files_that_a_turn_made_git_ignore_are_still_covered(root, history):
    def hide():
        (root / ".gitignore").write_text("*\n")
        (root / "src/main.py").write_text("changed")

    before = states(root)
    turn(history, hide)
    history.apply(history.plan_undo())
    assert states(root) == before


def test_a_large_file_is_reported_and_left_alone(root, tmp_path):
    history = UndoHistory(root, tmp_path / "state/undo/two", file_limit=1_000)
    put(root, "large", b"x" * 2_000)

    def grow():
        with (root / "large").open("ab") as file:
            file.write(b"more")
        put(root, "new large", b"y" * 5_000)

    turn(history, grow)
    assert set(uncovered(history)) == {"large", "new large"}
    plan = history.plan_undo()
    why = "it is larger than 1,000 bytes"
    assert plan.uncovered == {"large": why, "new large": why}
    history.apply(plan)
    assert (root / "large").stat().st_size == 2_004
    assert (root / "new large").exists()
    history.close()


def test_a_file_of_ten_gigabytes_is_not_read(root, history):
    with (root / "huge").open("wb") as file:
        file.truncate(10 << 30)
    turn(history, lambda: put(root, "README.md", b"turn"))
    assert uncovered(history) == {"huge": "it is larger than 33,554,432 bytes"}
    assert history._store.size < 1_000_000


def test_what_no_longer_fits_into_the_store_is_reported(root, tmp_path):
    history = UndoHistory(root, tmp_path / "state/undo/two", store_limit=10_000)
    put(root, "random", os.urandom(20_000))
    turn(history, lambda: put(root, "README.md", b"turn"))
    assert "limit of 10,000 bytes" in uncovered(history)["random"]
    history.apply(history.plan_undo())
    assert (root / "README.md").read_text() == "Read me\n"
    history.close()


def test_pipes_and_sockets_are_reported_and_neither_read_nor_removed(root, history):
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(root / "socket"))
    turn(history, lambda: os.mkfifo(root / "another pipe"))
    assert set(uncovered(history)) == {"pipe", "socket", "another pipe"}
    history.apply(history.plan_undo())
    assert stat.S_ISFIFO((root / "another pipe").lstat().st_mode)


ODD_NAMES = [
    b"line\nbreak",
    b"caf\xe9",
    b"\xff\xfe",
    b"-rf *",
    b"tab\there",
    "größe ☃".encode(),
    b"trailing ",
    b"a" * 255,
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_is_restored_also_by_the_next_process(root, history, name):
    path = root / os.fsdecode(name)
    path.write_bytes(b"before")
    before = states(root)

    def change():
        path.write_bytes(b"after")
        put(root, f"folder {os.fsdecode(name[:100])}/x", b"new")

    turn(history, change)
    again = reopened(history)
    again.apply(again.plan_undo())
    assert states(root) == before
    again.close()


def test_links_in_a_circle_and_out_of_the_folder_are_links_only(root, history, tmp_path):
    put(tmp_path, "outside/secret", b"secret")
    (root / "circle").symlink_to(".")
    (root / "out").symlink_to(tmp_path / "outside")
    before = states(root)

    def change():
        (root / "out/secret").write_text("changed")
        (root / "circle").unlink()
        (root / "out").unlink()
        (root / "out").mkdir()
        (root / "out/secret").write_text("mine")

    turn(history, change)
    history.apply(history.plan_undo())
    assert states(root) == before
    assert (tmp_path / "outside/secret").read_text() == "changed"


def test_nothing_is_written_through_a_link_that_took_a_folders_place(root, history, tmp_path):
    turn(history, lambda: put(root, "src/main.py", b"turn"))
    outside = tmp_path / "outside"
    (root / "src").rename(outside)
    (root / "src").symlink_to(outside)
    history.apply(history.plan_undo(), overwrite=True)
    assert (outside / "main.py").read_bytes() == b"turn"


def test_folders_deeper_than_can_be_opened_are_reported_and_the_others_are_restored(root, history):
    place = root
    for _ in range(MAX_DEPTH + 5):
        place = place / "d"
    place.mkdir(parents=True)
    turn(history, lambda: put(root, "README.md", b"turn"))
    assert any("d/d/d" in path for path in uncovered(history))
    history.apply(history.plan_undo())
    assert (root / "README.md").read_text() == "Read me\n"


def test_files_of_a_repository_inside_are_restored_and_its_git_folder_is_not_touched(root, history, tmp_path):
    inside = root / "inside"
    put(inside, "file", b"before")
    run_git(inside, "init")
    run_git(inside, "add", "file")

    def change():
        put(inside, "file", b"after")
        put(inside, "new", b"new")
        run_git(inside, "add", "-A")
        run_git(inside, "commit", "-m", "by the turn")

    turn(history, change)
    history.apply(history.plan_undo())
    assert states(inside) == {"file": ("file", 0o644, b"before")}
    assert run_git(inside, "log", "--format=%s").strip() == "by the turn"


@pytest.mark.parametrize("data", [b"a\r\nb\r\n", b"\xef\xbb\xbfbom", b"version https://git-lfs.github.com/spec/v1\n"])
def test_bytes_that_git_would_convert_come_back_as_they_were(root, history, data):
    (root / ".gitattributes").write_text("* text=auto eol=lf\n*.bin filter=lfs\n")
    put(root, "converted.bin", data)
    turn(history, lambda: put(root, "converted.bin", b"other"))
    history.apply(history.plan_undo())
    assert (root / "converted.bin").read_bytes() == data


def test_the_store_itself_is_not_covered_when_it_is_in_the_folder(root):
    history = UndoHistory(root, root / "state/undo/one")
    turn(history, lambda: put(root, "README.md", b"turn"))
    assert history.points()[0].paths == ("README.md",)
    history.apply(history.plan_undo())
    history.close()


# Failures.


def test_contents_are_on_the_disk_before_the_line_that_needs_them(history, monkeypatch):
    synced, real = [], os.fsync

    def fsync(descriptor):
        synced.append(os.fstat(descriptor).st_ino)
        real(descriptor)

    history.begin_turn("do it")
    monkeypatch.setattr(os, "fsync", fsync)
    history.before_change()
    assert synced == [(history._store.folder / name).stat().st_ino for name in (OBJECTS, LOG)]


def test_without_room_for_the_checkpoint_the_change_must_not_be_made(root, history, monkeypatch):
    def full(descriptor, data, offset):
        raise OSError(28, "No space left on device")

    history.begin_turn("do it")
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(CheckpointError) as error:
        history.before_change()
    assert str(error.value) == (
        "nothing was changed, because it could not be undone: nothing can be stored in "
        f"{root.parent}/state/undo/one (no space left on device); make room there, then try again"
    )
    monkeypatch.undo()
    history.before_change()
    put(root, "README.md", b"turn")
    history.apply(history.plan_undo())
    assert (root / "README.md").read_text() == "Read me\n"


def test_a_disk_that_is_full_after_the_change_leaves_it_to_the_end_of_the_turn(root, history, monkeypatch):
    def full(descriptor, data):
        raise OSError(28, "No space left on device")

    history.begin_turn("do it")
    history.before_change()
    put(root, "README.md", b"turn")
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(CheckpointError) as error:
        history.after_change()
    assert str(error.value) == (
        "what was changed cannot be saved, so undo will ask about each file: nothing can be stored in "
        f"{root.parent}/state/undo/one (no space left on device); make room there, then try again"
    )
    monkeypatch.undo()
    history.after_change()
    assert history.points()[0].paths == ("README.md",)


def test_an_undo_that_was_made_but_not_noted_is_not_made_again(root, history, monkeypatch):
    turn(history, lambda: put(root, "README.md", b"turn"))
    plan, real = history.plan_undo(), os.write

    def full(descriptor, data):
        if b"applied" in bytes(data):
            raise OSError(28, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    assert history.apply(plan).restored == ("README.md",)
    monkeypatch.undo()
    again = reopened(history)
    assert again.plan_unfinished() is None
    assert again.points()[0].undone
    again.close()


def test_a_checkpoint_that_the_user_stops_is_none(history):
    history.begin_turn("do it")
    with pytest.raises(CheckpointError) as error:
        history.before_change(should_stop=lambda: True)
    assert str(error.value) == "the checkpoint was stopped, so nothing was changed"


def test_a_file_that_cannot_be_written_is_named_and_the_others_are_restored(root, history, monkeypatch):
    turn(history, lambda: (put(root, "src/main.py", b"turn"), put(root, "README.md", b"turn")))
    plan, real = history.plan_undo(), os.replace

    def refused(source, target, **places):
        if target == "main.py":
            raise PermissionError(13, "Permission denied")
        real(source, target, **places)

    monkeypatch.setattr(os, "replace", refused)
    result = history.apply(plan)
    monkeypatch.undo()
    assert result.skipped == {"src/main.py": "permission denied"}
    assert result.restored == ("README.md",)
    assert sorted(path.name for path in (root / "src").iterdir()) == ["main.py"]


def test_a_file_that_changes_while_it_is_read_is_read_until_it_is_whole(root, history, monkeypatch):
    path, real, left = root / "README.md", os.read, [2]

    def read(descriptor, size):
        data = real(descriptor, size)
        if data == b"Read me\n" and left[0]:
            left[0] -= 1
            os.utime(path, ns=(left[0], left[0]))
        return data

    history.begin_turn("do it")
    monkeypatch.setattr(os, "read", read)
    history.before_change()
    monkeypatch.undo()
    assert left == [0]
    assert "README.md" not in uncovered(history)


def test_a_file_that_never_stops_changing_is_reported(root, history, monkeypatch):
    path, real = root / "README.md", os.read

    def read(descriptor, size):
        data = real(descriptor, size)
        if data.startswith(b"Read me"):
            with path.open("a") as file:
                file.write("more\n")
        return data

    history.begin_turn("do it")
    monkeypatch.setattr(os, "read", read)
    history.before_change()
    monkeypatch.undo()
    assert uncovered(history) == {"README.md": "it changes while it is read"}


def test_a_change_that_keeps_size_and_time_is_noticed(root, history):
    status = (root / "README.md").stat()

    def change():
        (root / "README.md").write_bytes(b"Dear me\n")
        os.utime(root / "README.md", ns=(status.st_atime_ns, status.st_mtime_ns))

    turn(history, change)
    assert history.points()[0].paths == ("README.md",)


def test_unchanged_files_are_read_once(root, history, monkeypatch):
    for path in (root / "README.md", root / "src/main.py", root / "run.sh", root / ".gitignore"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    monkeypatch.setattr("laguna_tui.undo.file_tree._SETTLED_NS", 0)
    history.prepare()
    read: list[int] = []
    monkeypatch.setattr("laguna_tui.undo.file_tree._read", lambda descriptor, limit: read.append(descriptor))
    history.begin_turn("do it")
    history.before_change()
    again = reopened(history)
    again.begin_turn("next")
    again.before_change()
    assert not read
    again.close()


def test_another_folder_in_its_place_is_neither_read_nor_written(root, history, tmp_path):
    turn(history, lambda: put(root, "README.md", b"turn"))
    root.rename(tmp_path / "away")
    put(root, "README.md", b"turn")
    with pytest.raises(CheckpointError):
        history.plan_undo()
    assert (root / "README.md").read_bytes() == b"turn"


# The next process.


def test_turns_and_what_was_undone_are_known_to_the_next_process(root, history):
    before = states(root)
    turn(history, lambda: change_everything(root))
    turn(history, lambda: put(root, "more", b"x"))
    history.apply(history.plan_undo())
    points = history.points()
    again = reopened(history)
    assert again.points() == points
    again.apply(again.plan_undo())
    assert states(root) == before
    again.close()


def test_a_change_that_the_app_did_not_survive_is_a_conflict_that_can_be_undone(root, history):
    before = states(root)
    history.begin_turn("do it")
    history.before_change()
    change_everything(root)
    again = reopened(history)
    plan = again.plan_undo()
    assert not plan.files
    assert plan.conflicts[0].conflict == AUTHOR_UNKNOWN
    again.apply(plan, overwrite=True)
    assert states(root) == before
    again.close()


class Killed(BaseException):
    """The process is killed."""


@pytest.mark.parametrize("after", range(6))
def test_an_undo_that_was_killed_is_finished_by_the_next_process(root, history, monkeypatch, after):
    before = states(root)
    turn(history, lambda: change_everything(root))
    plan, real, calls = history.plan_undo(), os.fsync, []

    def fsync(descriptor):
        if len(calls) == after + 2:
            raise Killed
        calls.append(descriptor)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(Killed):
        history.apply(plan)
    monkeypatch.undo()
    again = reopened(history)
    rest = again.plan_unfinished()
    assert rest is not None
    again.apply(rest)
    assert states(root) == before
    assert again.plan_unfinished() is None
    assert again.points()[0].undone
    again.close()


def test_what_the_user_does_after_a_killed_undo_is_kept(root, history, monkeypatch):
    turn(history, lambda: (put(root, "src/main.py", b"turn"), put(root, "README.md", b"turn")))
    plan = history.plan_undo()

    def killed(*arguments, **named):
        raise Killed

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(Killed):
        history.apply(plan)
    monkeypatch.undo()
    put(root, "README.md", b"mine")
    again = reopened(history)
    rest = again.plan_unfinished()
    assert [file.path for file in rest.conflicts] == ["README.md"]
    again.apply(rest)
    assert (root / "README.md").read_bytes() == b"mine"
    assert (root / "src/main.py").read_text() == "one\ntwo\nthree\n"
    again.close()


def test_a_line_that_was_being_written_is_dropped(root, history):
    turn(history, lambda: put(root, "README.md", b"turn"))
    with (history._store.folder / LOG).open("ab") as file:
        file.write(b'{"event":"turn","num')
    again = reopened(history)
    again.begin_turn("next")
    once_more = reopened(again)
    assert [point.title for point in once_more.points()] == ["do it", "next"]
    once_more.close()


def test_the_log_of_another_folder_is_refused(root, history, tmp_path):
    history.close()
    (tmp_path / "other").mkdir()
    with pytest.raises(StoreError) as error:
        UndoHistory(tmp_path / "other", history._store.folder)
    assert str(error.value) == (
        f"the undo log in {tmp_path}/state/undo/one cannot be read (it belongs to another folder or version)"
    )


@pytest.mark.parametrize("line", [b"[]\n", b"{}\n", b'{"event":"what"}\n', b"not json\n", b"\xff\n"])
def test_a_damaged_log_is_refused_with_a_sentence(root, history, line):
    turn(history, lambda: put(root, "README.md", b"turn"))
    history.close()
    with (history._store.folder / LOG).open("ab") as file:
        file.write(line)
    with pytest.raises(StoreError, match="cannot be read"):
        UndoHistory(root, history._store.folder)


def test_the_log_is_the_users_alone(history):
    assert stat.S_IMODE((history._store.folder / LOG).stat().st_mode) == 0o600


def test_long_sessions_open_again_with_the_last_tree(root, history):
    for number in range(120):
        turn(history, lambda number=number: put(root, f"file{number % 7}", b"%d" % number))
    again = reopened(history)
    again.begin_turn("next")
    again.before_change()
    put(root, "file0", b"last")
    again.apply(again.plan_undo())
    assert (root / "file0").read_bytes() == b"119"
    assert len(again.points()) == 121
    again.close()


# Diffs.


def test_the_diff_of_a_turn_has_each_file_with_its_hunks(root, history):
    turn(history, lambda: change_everything(root))
    turn(history, lambda: put(root, "src/main.py", b"one\n2\n3\n"))
    files = {file.path: file for file in history.diff(1)}
    assert list(files) == ["README.md", "link", "new/deep/file", "new/link", "run.sh", "src/main.py"]
    assert files["src/main.py"].diff == ("@@ -1,3 +1,3 @@", " one", "-two", "+2", " three")
    assert (files["src/main.py"].added, files["src/main.py"].removed) == (1, 1)
    assert (files["README.md"].kind, files["README.md"].diff) == (ChangeKind.DELETE, ("@@ -1 +0,0 @@", "-Read me"))
    assert (files["new/deep/file"].kind, files["new/deep/file"].note) == (ChangeKind.CREATE, "it is binary")
    assert files["run.sh"].note == "its mode was 755 and is 644"
    assert files["link"].diff == ("@@ -1 +1 @@", "-src/main.py", "+README.md")


def test_the_diff_of_the_session_is_all_turns_that_are_not_undone_as_one(root, history):
    turn(history, lambda: put(root, "README.md", b"first\n"))
    turn(history, lambda: put(root, "README.md", b"second\n"))
    turn(history, lambda: put(root, "undone", b"x"))
    history.apply(history.plan_undo())
    (file,) = history.diff()
    assert file.diff == ("@@ -1 +1 @@", "-Read me", "+second")


def test_a_moved_file_is_one_change_of_the_diff(root, history):
    turn(history, lambda: (root / "src/main.py").rename(root / "src/app.py"))
    (file,) = history.diff(1)
    assert (file.path, file.kind, file.target) == ("src/main.py", ChangeKind.MOVE, "src/app.py")


def test_a_diff_too_large_to_read_says_so(root, history):
    turn(history, lambda: put(root, "large", b"line\n" * 2_000_000))
    assert [file.note for file in history.diff(1)] == ["it is too large to show"]


def test_the_preview_of_a_plan_shows_what_the_user_would_lose(root, history):
    turn(history, lambda: put(root, "README.md", b"turn\n"))
    put(root, "README.md", b"mine\n")
    (file,) = history.preview(history.plan_undo())
    assert file.diff == ("@@ -1 +1 @@", "-mine", "+Read me")


def test_the_diff_of_a_missing_turn_is_refused(history):
    with pytest.raises(UndoError) as error:
        history.diff(3)
    assert str(error.value) == "there is no turn 3; to see the turns: /rewind"


def test_files_can_be_stored_ahead_on_another_thread(root, history):
    thread = threading.Thread(target=history.prepare)
    thread.start()
    turn(history, lambda: put(root, "README.md", b"turn"))
    thread.join()
    history.apply(history.plan_undo())
    assert (root / "README.md").read_text() == "Read me\n"


def test_a_change_outside_a_turn_is_a_turn_of_its_own(root, history):
    history.before_change()
    put(root, "README.md", b"turn")
    history.after_change()
    history.apply(history.plan_undo())
    assert (root / "README.md").read_text() == "Read me\n"
    history.before_change()
    assert [point.number for point in history.points()] == [2]


def test_a_change_is_distinguished_from_a_command_that_changed_nothing_or_left_caches(root, history):
    def changed(command):
        history.before_change()
        command()
        return history.after_change()

    (root / "src/__pycache__").mkdir()
    history.begin_turn("do it")
    assert not changed(lambda: None)
    assert not changed(lambda: (root / "src/__pycache__/main.pyc").write_text("0"))
    assert not changed((root / "empty").mkdir)
    assert changed(lambda: (root / "src/main.py").write_text("other\n"))
    assert changed(lambda: (root / "new.py").write_text("new\n"))
    assert not history.after_change()


@odd
@pytest.mark.timeout(20)
def test_a_log_that_is_not_a_file_of_this_user_is_skipped_at_once(tmp_path, make):
    (tmp_path / "sessions/one" / STORE).mkdir(parents=True)
    make(tmp_path / "sessions/one" / STORE / LOG)
    assert unfinished_stores(tmp_path / "sessions", tmp_path) == []


def test_undo_in_a_part_of_a_repository_leaves_the_rest_as_it_is(root, tmp_path):
    run_git(root, "init")
    rest = {path: path.read_bytes() for path in root.iterdir() if path.is_file()}
    with closing(UndoHistory(root / "src", tmp_path / "state/undo/part")) as history:
        history.begin_turn("a")
        history.before_change()
        (root / "src/main.py").write_text("changed\n")
        (root / "src/new.py").write_text("new\n")
        (root / "src/new.log").write_text("logged\n")
        (root / "README.md").write_text("by the user\n")
        history.after_change()
        plan = history.plan_undo()
        assert [file.path for file in plan.files] == ["main.py", "new.py"]
        history.apply(plan)
    assert (root / "src/main.py").read_text() == "one\ntwo\nthree\n"
    assert not (root / "src/new.py").exists()
    assert (root / "src/new.log").exists()
    rest[root / "README.md"] = b"by the user\n"
    assert {path: path.read_bytes() for path in rest} == rest
