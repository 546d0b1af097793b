"""The workspace cannot be left, whatever path a model writes."""

import os
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laguna_tui.repo.files.workspace import OutsideError, UnreadableError, Workspace, WorkspaceError


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def workspace(tmp_path, outside):
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/main.py").write_text("x = 1\n")
    (root / ".git").mkdir()
    (root / ".git/config").write_text("[core]")
    (root / "file_link").symlink_to(outside / "secret.txt")
    (root / "folder_link").symlink_to(outside)
    (root / "inner_link").symlink_to("src/main.py")
    (root / "git_link").symlink_to(".git")
    (root / "loop").symlink_to("loop")
    return Workspace(root)


def read(workspace, path):
    return workspace.read(workspace.locate(path))


@pytest.mark.parametrize("path", ["src/main.py", "./src/main.py", "src//main.py", " src/main.py ", "inner_link"])
def test_files_inside_are_read(workspace, path):
    assert read(workspace, path) == b"x = 1\n"


@pytest.mark.parametrize(
    "path", ["src/../src/main.py", "missing/../src/main.py", "../project/src/main.py", "src/./../inner_link"]
)
def test_a_path_with_dots_that_ends_inside_is_read(workspace, path):
    assert read(workspace, path) == b"x = 1\n"


@pytest.mark.parametrize("path", ["src/main.py", "./src//main.py", "inner_link", "src/../src/main.py"])
def test_an_absolute_path_inside_is_read(workspace, path):
    assert workspace.locate(f"{workspace.root}/{path}") == "src/main.py"
    assert read(workspace, f"{workspace.root}/{path}") == b"x = 1\n"


def test_the_folder_itself_may_be_written_in_full(workspace):
    assert [workspace.locate(path) for path in (str(workspace.root), f"{workspace.root}/", "src/..")] == ["", "", ""]


def test_a_folder_below_one_of_gits_is_a_folder_like_any_other(tmp_path):
    (tmp_path / ".git/worktree").mkdir(parents=True)
    (tmp_path / ".git/worktree/main.py").write_text("x = 1\n")
    workspace = Workspace(tmp_path / ".git/worktree")
    assert read(workspace, f"{workspace.root}/main.py") == b"x = 1\n"


@pytest.mark.parametrize(
    "path", ["{root}/../outside/secret.txt", "{root}/file_link", "{root}/.git/config", "{root}/git_link/config"]
)
def test_an_absolute_path_that_leads_out_is_refused(workspace, path):
    with pytest.raises(OutsideError):
        read(workspace, path.format(root=workspace.root))


def test_dots_behind_a_link_lead_where_the_system_follows_them(workspace, outside):
    (outside.parent / "main.py").write_text("secret")
    (workspace.root / "main.py").write_text("mine")
    with pytest.raises(OutsideError) as error:
        read(workspace, "folder_link/../main.py")
    assert str(error.value) == "folder_link/../main.py is a link out of the folder; only files inside it can be read"


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret.txt",
        "src/../../outside/secret.txt",
        "/etc/passwd",
        "//etc/passwd",
        "file_link",
        "folder_link/secret.txt",
        "/proc/self/cwd/src/main.py",
        "/proc/self/root/etc/passwd",
        "src/main.py\0.txt",
        ".git/config",
        ".GIT/config",
        "git_link/config",
        "src/../.git/config",
        "..",
    ],
)
def test_every_way_out_is_refused_with_what_to_do(workspace, path):
    with pytest.raises(OutsideError, match=r"; (use a path|only)"):
        read(workspace, path)


@pytest.mark.parametrize("path", ["missing.py", "src/missing.py", "src/main.py/x", "src", "", "x" * 5000, "\udcff"])
def test_what_is_no_file_is_said_to_be_none(workspace, path):
    with pytest.raises(UnreadableError, match=r"; (use find|try another|use a path)"):
        read(workspace, path)


@pytest.mark.timeout(10)
def test_pipes_devices_and_sockets_neither_open_nor_hang(workspace):
    os.mkfifo(workspace.root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(workspace.root / "socket"))
        for path in ("pipe", "socket"):
            with pytest.raises(UnreadableError):
                read(workspace, path)


def test_a_file_over_the_limit_is_refused_before_it_is_read(workspace):
    with (workspace.root / "huge.log").open("wb") as file:
        file.truncate(10 * 1024**3)
    with pytest.raises(UnreadableError) as error:
        read(workspace, "huge.log")
    assert str(error.value) == "huge.log has 10,737,418,240 bytes, more than the 33,554,432 that can be read"


def test_of_a_large_file_the_beginning_can_be_read(workspace):
    (workspace.root / "large.txt").write_bytes(b"0123456789")
    assert workspace.read_beginning("large.txt", 4) == (b"0123", 10)
    assert workspace.read_beginning("large.txt", 99) == (b"0123456789", 10)
    with pytest.raises(UnreadableError) as error:
        workspace.read_beginning("", 4)
    assert str(error.value) == "this is a folder; use find to list its files"


def test_a_folder_swapped_for_a_link_after_the_check_leads_nowhere(workspace, outside):
    """The race itself: the path is checked, then its folder becomes a link, then it is opened."""
    inside = workspace.locate("src/main.py")
    (outside / "main.py").write_text("secret")
    (workspace.root / "src").rename(workspace.root / "old")
    (workspace.root / "src").symlink_to(outside)
    with pytest.raises(UnreadableError):
        workspace.read(inside)


@pytest.mark.timeout(20)
def test_a_file_swapped_all_the_time_never_gives_the_secret(workspace, outside):
    path, link, done = workspace.root / "flip", workspace.root / "flip_link", threading.Event()

    def swap():
        while not done.is_set():
            path.unlink(missing_ok=True)
            path.write_text("mine")
            link.unlink(missing_ok=True)
            link.symlink_to(outside / "secret.txt")
            link.rename(path)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(2000):
            try:
                assert read(workspace, "flip") in (b"mine", b"")
            except WorkspaceError:
                continue
    finally:
        done.set()
        thread.join()


def open_descriptors():
    return len(list(Path("/dev/fd").iterdir()))


FRAGMENTS = ["..", ".", "/", "//", "src", "main.py", "file_link", "folder_link", "secret.txt", "outside", "project"]
FRAGMENTS += [".git", "git_link", "config", "\\x2e\\x2e", "\\x2f", " ", "\0", "~", "loop"]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join) | st.text(max_size=20))
def test_no_combination_of_parts_reads_a_secret(workspace, path):
    try:
        assert read(workspace, path) == b"x = 1\n"
    except WorkspaceError as error:
        assert ";" in str(error)


def test_a_name_with_blanks_around_it_is_read_as_it_stands(workspace):
    (workspace.root / " odd ").write_text("odd")
    assert read(workspace, " odd ") == b"odd"


def test_descriptors_are_given_back(workspace):
    before = open_descriptors()
    for path in ("src/main.py", "src/missing.py", "src"):
        try:
            read(workspace, path)
        except WorkspaceError:
            continue
    assert open_descriptors() == before


def test_a_workspace_must_be_a_folder(tmp_path):
    with pytest.raises(UnreadableError) as error:
        Workspace(tmp_path / "missing")
    assert str(error.value) == f"{tmp_path}/missing is not a folder; start in the folder with the code"


@pytest.mark.parametrize("swap", ["folder", "link"])
def test_a_folder_that_took_the_place_of_the_workspace_is_not_read(workspace, tmp_path, swap):
    (tmp_path / "other/src").mkdir(parents=True)
    (tmp_path / "other/src/main.py").write_text("secret = 1\n")
    workspace.root.rename(tmp_path / "away")
    if swap == "folder":
        (tmp_path / "other").rename(workspace.root)
    else:
        workspace.root.symlink_to(tmp_path / "other")
    with pytest.raises(WorkspaceError):
        read(workspace, "src/main.py")
    with pytest.raises(WorkspaceError):
        workspace.read("src/main.py")
