"""Whole files: what is made, overwritten, moved and deleted is exactly what was proposed, or nothing is."""

import errno
import os
import stat

import pytest

from laguna_tui.base.change_proposal import ChangeKind
from laguna_tui.repo.edits.file_changes import apply_change, propose_delete, propose_move, propose_write, with_text
from laguna_tui.repo.files import source_writer
from laguna_tui.repo.files.source_writer import TemporaryFiles
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError
from tests.app.odd_files import listening, pipe


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/cart.py").write_text("def total(items):\n    return sum(items)\n")
    return Workspace(root)


@pytest.fixture
def root(workspace):
    return workspace.root


def snapshot(root):
    """Every path with its kind, mode and bytes."""
    return {
        str(path.relative_to(root)): (stat.S_IFMT(path.lstat().st_mode), path.read_bytes() if is_plain(path) else b"")
        for path in root.rglob("*")
    }


def names(folder):
    return [path.name for path in folder.iterdir()]


def is_plain(path):
    return path.is_file() and not path.is_symlink()


@pytest.fixture
def refused(root):
    """The one-line sentence with which a change is refused; nothing may have changed."""

    def refuse(propose, *arguments):
        before = snapshot(root)
        with pytest.raises(WorkspaceError) as caught:
            apply_change(propose(*arguments))
        assert snapshot(root) == before
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return refuse


def test_a_new_file_is_made_with_its_folders(workspace, root):
    proposal = propose_write(workspace, "lib/deep/new.py", "a = 1\nb = 2\n")
    assert not (root / "lib").exists()
    assert (proposal.kind, proposal.path, proposal.before) == (ChangeKind.CREATE, "lib/deep/new.py", "")
    assert proposal.diff == ("@@ -0,0 +1,2 @@", "+a = 1", "+b = 2")
    apply_change(proposal)
    assert (root / "lib/deep/new.py").read_bytes() == b"a = 1\nb = 2\n"
    assert names(root / "lib/deep") == ["new.py"]


def test_a_new_file_has_the_mode_of_any_programs_new_files(workspace, root):
    (root / "plain").write_text("")
    apply_change(propose_write(workspace, "new", "text"))
    assert (root / "new").stat().st_mode == (root / "plain").stat().st_mode


def test_an_empty_file_is_made(workspace, root):
    apply_change(propose_write(workspace, "src/__init__.py", ""))
    assert (root / "src/__init__.py").read_bytes() == b""


@pytest.mark.parametrize(
    "content", ["one\r\ntwo\r\n", "no newline at the end", "\ufeffmarked\n", "é €\n", "a\n" * 50_000]
)
def test_a_new_file_has_exactly_the_text_that_it_was_given(workspace, root, content):
    apply_change(propose_write(workspace, "new.txt", content))
    assert (root / "new.txt").read_bytes() == content.encode()


@pytest.mark.parametrize(
    ("data", "content", "after"),
    [
        (b"one\r\ntwo\r\n", "one\nTWO\nthree\n", b"one\r\nTWO\r\nthree\r\n"),
        (b"one\r\ntwo\nthree\n", "one\nTWO\nthree\n", b"one\r\nTWO\nthree\n"),
        (b"one\rtwo\r", "one\nTWO\n", b"one\rTWO\r"),
        (b"one\ntwo\n", "one\r\nTWO\r\n", b"one\nTWO\n"),
        (b"one\r\ntwo", "one\nTWO", b"one\r\nTWO"),
        (b"one\r\ntwo", "one\ntwo\n", b"one\r\ntwo\r\n"),
        (b"one\r\ntwo\r\n", "one\ntwo", b"one\r\ntwo"),
        (b"\xef\xbb\xbfone\n", "two\n", b"\xef\xbb\xbftwo\n"),
        (b"\xef\xbb\xbfone\n", "\ufefftwo\n", b"\xef\xbb\xbftwo\n"),
        ("caf\xe9\n".encode("latin-1"), "caf\xe9s\n", "caf\xe9s\n".encode("latin-1")),
        ("\ufeffone\r\n".encode("utf-16-le"), "two\n", "\ufefftwo\r\n".encode("utf-16-le")),
        (b"", "a\r\nb\n", b"a\r\nb\n"),
    ],
)
def test_an_overwritten_file_keeps_its_encoding_and_line_breaks(workspace, root, data, content, after):
    (root / "notes.txt").write_bytes(data)
    proposal = propose_write(workspace, "notes.txt", content)
    assert (proposal.kind, proposal.old) == (ChangeKind.EDIT, data)
    apply_change(proposal)
    assert (root / "notes.txt").read_bytes() == after


def test_a_long_file_that_is_overwritten_keeps_the_line_breaks_of_its_unchanged_ends(workspace, root):
    lines = [f"line {number}" for number in range(9_000)]
    mixed = "".join(line + ("\r\n" if number % 3 else "\n") for number, line in enumerate(lines))
    (root / "notes.txt").write_bytes(mixed.encode())
    lines[4_000:4_001] = ["other"]
    apply_change(propose_write(workspace, "notes.txt", "\n".join(lines) + "\n"))
    assert (root / "notes.txt").read_bytes() == mixed.replace("line 4000\r\n", "other\r\n").encode()


def test_the_diff_of_an_overwritten_file_shows_what_changes(workspace):
    proposal = propose_write(workspace, "src/cart.py", "def total(items):\n    return sum(items, 0)\n\nX = 1\n")
    assert proposal.diff == (
        "@@ -1,2 +1,4 @@",
        " def total(items):",
        "-    return sum(items)",
        "+    return sum(items, 0)",
        "+",
        "+X = 1",
    )


def test_mode_hard_links_and_the_link_that_leads_to_it_stay(workspace, root):
    (root / "src/cart.py").chmod(0o755)
    (root / "link.py").symlink_to("src/cart.py")
    proposal = propose_write(workspace, "link.py", "X = 1\n")
    assert proposal.path == "src/cart.py"
    apply_change(proposal)
    assert (root / "link.py").is_symlink()
    assert (root / "src/cart.py").read_text() == "X = 1\n"
    assert stat.S_IMODE((root / "src/cart.py").stat().st_mode) == 0o755


def test_a_hard_link_elsewhere_keeps_the_old_bytes_of_an_overwritten_file(workspace, root, tmp_path):
    os.link(root / "src/cart.py", tmp_path / "outside.py")
    apply_change(propose_write(workspace, "src/cart.py", "X = 1\n"))
    assert (tmp_path / "outside.py").read_text().startswith("def total")


def test_a_file_that_came_meanwhile_is_not_overwritten(workspace, root):
    proposal = propose_write(workspace, "new.py", "mine\n")
    (root / "new.py").write_text("theirs\n")
    with pytest.raises(WorkspaceError) as error:
        apply_change(proposal)
    assert str(error.value) == "there is something at new.py by now; look at it, or use another path"
    assert (root / "new.py").read_text() == "theirs\n"


@pytest.mark.parametrize("leads_to", ["nowhere", "../outside.txt", "src/cart.py"])
def test_a_link_that_came_meanwhile_is_neither_followed_nor_replaced(workspace, root, tmp_path, leads_to):
    (tmp_path / "outside.txt").write_text("theirs\n")
    proposal = propose_write(workspace, "new.py", "mine\n")
    (root / "new.py").symlink_to(leads_to)
    before = snapshot(root)
    with pytest.raises(WorkspaceError):
        apply_change(proposal)
    assert snapshot(root) == before
    assert (tmp_path / "outside.txt").read_text() == "theirs\n"
    assert not (root / "nowhere").exists()


def test_a_link_in_the_place_of_a_folder_that_is_to_be_made_is_not_followed(workspace, root, tmp_path):
    (tmp_path / "outside").mkdir()
    proposal = propose_write(workspace, "lib/new.py", "mine\n")
    (root / "lib").symlink_to(tmp_path / "outside")
    with pytest.raises(WorkspaceError):
        apply_change(proposal)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_file_that_changed_since_it_was_proposed_is_neither_overwritten_nor_moved_nor_deleted(workspace, root):
    proposals = [
        propose_write(workspace, "src/cart.py", "X = 1\n"),
        propose_move(workspace, "src/cart.py", "src/basket.py"),
        propose_delete(workspace, "src/cart.py"),
    ]
    (root / "src/cart.py").write_text("theirs\n")
    before = snapshot(root)
    for proposal in proposals:
        with pytest.raises(WorkspaceError) as error:
            apply_change(proposal)
        assert str(error.value) == "src/cart.py changed since the edit was proposed; read it and call again"
    assert snapshot(root) == before


def test_a_folder_that_took_the_workspaces_place_is_left_alone(workspace, root):
    proposals = [
        propose_write(workspace, "new.py", "X = 1\n"),
        propose_move(workspace, "src/cart.py", "src/basket.py"),
        propose_delete(workspace, "src/cart.py"),
    ]
    root.rename(root.with_name("old"))
    (root / "src").mkdir(parents=True)
    (root / "src/cart.py").write_text("def total(items):\n    return sum(items)\n")
    before = snapshot(root)
    for proposal in proposals:
        with pytest.raises(WorkspaceError):
            apply_change(proposal)
    assert snapshot(root) == before


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("../outside.py", "is outside the folder"),
        ("/etc/cron.d/new", "is outside the folder"),
        (".git/hooks/pre-commit", "belongs to git itself"),
        (".GIT/config", "belongs to git itself"),
        ("src", "is a folder"),
        ("new/", "is the path of a folder"),
        ("src/cart.py/new.py", "src/cart.py is not a folder"),
        ("a\nb.py", "no file name should have"),
        ("a\x1b[2J.py", "no file name should have"),
        ("a\u202eyp.exe", "no file name should have"),
        ("src/\u200bcart.py", "no file name should have"),
        ("nul\0.py", "NUL"),
        ("x" * 300, "too long"),
        ("a/" * 300 + "b", "too long"),
        ("out/new.py", "is a link out of the folder"),
        ("dangling", "is a link out of the folder"),
        ("loop", ""),
        ("", "is a folder"),
    ],
)
def test_what_can_be_no_new_file_is_refused(workspace, root, tmp_path, refused, path, sentence):
    (tmp_path / "elsewhere").mkdir()
    (root / "out").symlink_to(tmp_path / "elsewhere")
    (root / "dangling").symlink_to(tmp_path / "elsewhere/new")
    (root / "loop").symlink_to("loop")
    assert sentence in refused(propose_write, workspace, path, "text\n")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_texts_that_no_text_file_has_are_refused(workspace, root, refused):
    (root / "latin.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    (root / "picture.png").write_bytes(b"\x89PNG\0\0")
    assert "NUL" in refused(propose_write, workspace, "a.txt", "a\0b")
    assert "U+D800" in refused(propose_write, workspace, "a.txt", "a\ud800b")
    assert "U+4F60" in refused(propose_write, workspace, "latin.txt", "\u4f60\n")
    assert "binary" in refused(propose_write, workspace, "picture.png", "text\n")
    assert "nothing would change" in refused(
        propose_write, workspace, "src/cart.py", (root / "src/cart.py").read_text()
    )


@pytest.mark.parametrize("make", [pipe, listening])
def test_what_is_no_regular_file_is_left_alone(workspace, root, refused, make):
    make(root / "odd")
    assert refused(propose_write, workspace, "odd", "text\n")
    assert refused(propose_move, workspace, "odd", "other")
    assert refused(propose_delete, workspace, "odd")


def test_what_programs_obey_is_asked_about_wherever_it_comes_from_or_goes_to(workspace, root):
    (root / ".envrc").write_text("echo\n")
    assert propose_write(workspace, ".github/workflows/ci.yml", "on: push\n").approval_reason
    assert propose_move(workspace, "src/cart.py", ".vscode/tasks.json").approval_reason
    assert propose_move(workspace, ".envrc", "notes.txt").approval_reason
    assert propose_delete(workspace, ".envrc").approval_reason
    assert not propose_write(workspace, "src/new.py", "").approval_reason


def test_a_file_is_deleted(workspace, root):
    proposal = propose_delete(workspace, "src/cart.py")
    assert (proposal.kind, proposal.after, proposal.new) == (ChangeKind.DELETE, "", b"")
    assert proposal.diff == ("@@ -1,2 +0,0 @@", "-def total(items):", "-    return sum(items)")
    apply_change(proposal)
    assert list((root / "src").iterdir()) == []


def test_an_empty_folder_is_deleted_and_one_that_is_not_is_not(workspace, root, refused):
    (root / "empty").mkdir()
    (root / "filled").mkdir()
    filled = propose_delete(workspace, "filled")
    (root / "filled/.hidden").write_text("")
    apply_change(propose_delete(workspace, "empty/"))
    assert not (root / "empty").exists()
    with pytest.raises(WorkspaceError) as error:
        apply_change(filled)
    assert str(error.value) == "filled cannot be deleted (directory not empty); it is as it was"
    assert "not empty" in refused(propose_delete, workspace, "src")
    assert "not empty" in refused(propose_delete, workspace, ".")


def test_a_file_that_is_not_there_is_not_deleted_although_another_ends_like_it(workspace, refused):
    assert "there is no file cart.py" in refused(propose_delete, workspace, "cart.py")
    assert "there is no file cart.py" in refused(propose_move, workspace, "cart.py", "new.py")


@pytest.mark.parametrize("path", ["link.py", "./link.py", " link.py", "src/../link.py"])
def test_a_link_is_neither_deleted_nor_moved_nor_what_it_leads_to(workspace, root, refused, path):
    (root / "link.py").symlink_to("src/cart.py")
    assert "link.py is a link to src/cart.py" in refused(propose_delete, workspace, path).replace("./", "").replace(
        "src/../", ""
    )
    assert "is a link to src/cart.py" in refused(propose_move, workspace, path, "other.py")


def test_a_file_is_moved_with_its_bytes_mode_and_number(workspace, root):
    (root / "src/cart.py").chmod(0o755)
    before = (root / "src/cart.py").stat()
    proposal = propose_move(workspace, "src/cart.py", "shop/basket.py")
    assert (proposal.kind, proposal.path, proposal.target) == (ChangeKind.MOVE, "src/cart.py", "shop/basket.py")
    apply_change(proposal)
    after = (root / "shop/basket.py").stat()
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (before.st_ino, before.st_mode, before.st_mtime_ns)
    assert names(root / "src") == []


def test_a_binary_file_can_be_moved_and_deleted(workspace, root):
    (root / "a.bin").write_bytes(b"\0\1\2")
    apply_change(propose_move(workspace, "a.bin", "b.bin"))
    assert (root / "b.bin").read_bytes() == b"\0\1\2"
    apply_change(propose_delete(workspace, "b.bin"))
    assert not (root / "b.bin").exists()


@pytest.mark.parametrize("target", ["lib", "lib/", "lib/cart.py", "./lib/../lib/"])
def test_a_folder_as_the_target_gets_the_file(workspace, root, target):
    (root / "lib").mkdir()
    apply_change(propose_move(workspace, "src/cart.py", target))
    assert names(root / "lib") == ["cart.py"]


def test_a_folder_that_is_not_there_yet_is_made_for_a_target_that_ends_like_one(workspace, root):
    apply_change(propose_move(workspace, "src/cart.py", "new/folder/"))
    assert names(root / "new/folder") == ["cart.py"]


def test_nothing_is_moved_over_a_file(workspace, root, refused):
    (root / "src/other.py").write_text("theirs\n")
    assert "something at src/other.py already" in refused(propose_move, workspace, "src/cart.py", "src/other.py")
    assert "nothing would change" in refused(propose_move, workspace, "src/cart.py", "src/cart.py")
    assert "is a folder" in refused(propose_move, workspace, "src", "lib")
    assert "outside" in refused(propose_move, workspace, "src/cart.py", "../cart.py")
    assert "git" in refused(propose_move, workspace, "src/cart.py", ".git/config")
    proposal = propose_move(workspace, "src/cart.py", "src/late.py")
    (root / "src/late.py").write_text("theirs\n")
    assert "something at src/late.py by now" in refused(lambda: proposal)


def test_a_file_is_not_moved_over_its_own_hard_link(workspace, root, refused):
    os.link(root / "src/cart.py", root / "src/other.py")
    assert "already" in refused(propose_move, workspace, "src/cart.py", "src/other.py")


def fails(number):
    def fail(*arguments, **more):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("call", ["fsync", "link", "open", "mkdir"])
def test_a_full_disk_leaves_no_new_file_and_no_new_folder(workspace, root, monkeypatch, call):
    proposal = propose_write(workspace, "lib/deep/new.py", "X = 1\n")
    before = snapshot(root)
    real = os.open

    def only_new(path, flags, *more, **named):
        return fails(errno.ENOSPC)() if flags & os.O_CREAT else real(path, flags, *more, **named)

    monkeypatch.setattr(os, call, only_new if call == "open" else fails(errno.ENOSPC))
    with pytest.raises(WorkspaceError) as error:
        apply_change(proposal)
    assert str(error.value) == "lib/deep/new.py cannot be made (no space left on device); nothing was changed"
    monkeypatch.undo()
    assert snapshot(root) == before


@pytest.mark.parametrize("call", ["link", "unlink"])
def test_a_disk_that_refuses_leaves_a_moved_or_deleted_file_where_it_was(workspace, root, monkeypatch, call):
    change = (
        propose_move(workspace, "src/cart.py", "lib/x.py")
        if call == "link"
        else propose_delete(workspace, "src/cart.py")
    )
    before = snapshot(root)
    monkeypatch.setattr(os, call, fails(errno.EROFS))
    with pytest.raises(WorkspaceError, match="read-only file system"):
        apply_change(change)
    monkeypatch.undo()
    assert snapshot(root) == before


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_disk_without_hard_links_gets_new_files_and_keeps_those_that_came_meanwhile(
    workspace, root, monkeypatch, number
):
    monkeypatch.setattr(os, "link", fails(number))
    apply_change(propose_write(workspace, "lib/new.py", "X = 1\n"))
    apply_change(propose_move(workspace, "lib/new.py", "lib/moved.py"))
    assert {path.name: path.read_text() for path in (root / "lib").iterdir()} == {"moved.py": "X = 1\n"}
    late = [propose_write(workspace, "lib/late.py", "mine\n"), propose_move(workspace, "src/cart.py", "lib/late.py")]
    (root / "lib/late.py").write_text("theirs\n")
    for proposal in late:
        with pytest.raises(WorkspaceError) as error:
            apply_change(proposal)
        assert str(error.value) == "there is something at lib/late.py by now; look at it, or use another path"
    assert (root / "lib/late.py").read_text() == "theirs\n"
    assert (root / "src/cart.py").exists()


def test_a_read_only_folder_says_so(workspace, root, monkeypatch):
    proposal = propose_write(workspace, "src/new.py", "X = 1\n")
    real = os.open

    def denied(path, flags, *more, **named):
        return fails(errno.EACCES)() if flags & os.O_CREAT else real(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(WorkspaceError) as error:
        apply_change(proposal)
    assert str(error.value) == "src/new.py cannot be made (permission denied); nothing was changed"


def test_a_file_swapped_at_the_last_moment_is_not_deleted(workspace, root, monkeypatch):
    proposal = propose_delete(workspace, "src/cart.py")
    real = source_writer._checked

    def swapped(*arguments):
        checked = real(*arguments)
        (root / "src/cart.py").rename(root / "src/away.py")
        (root / "src/cart.py").write_text("theirs\n")
        return checked

    monkeypatch.setattr(source_writer, "_checked", swapped)
    with pytest.raises(WorkspaceError) as error:
        apply_change(proposal)
    assert str(error.value) == "src/cart.py changed since the edit was proposed; read it and call again"
    assert (root / "src/cart.py").read_text() == "theirs\n"


def test_what_is_being_written_is_noted_until_it_is_there(workspace, root, tmp_path, monkeypatch):
    notes = tmp_path / "notes"
    seen = []
    real = os.link

    def look(*arguments, **more):
        seen.extend(path.read_text() for path in notes.iterdir())
        return real(*arguments, **more)

    monkeypatch.setattr(os, "link", look)
    apply_change(propose_write(workspace, "lib/new.py", "X = 1\n"), TemporaryFiles(notes))
    assert [path.rpartition("/")[0] for path in seen] == [str(root / "lib")]
    assert list(notes.iterdir()) == []


def test_the_user_may_give_a_proposal_another_text(workspace, root):
    (root / "notes.txt").write_bytes(b"\xef\xbb\xbfone\r\n")
    edited = with_text(propose_write(workspace, "notes.txt", "two\n"), "three\nfour\n")
    assert edited.diff == ("@@ -1 +1,2 @@", "-one", "+three", "+four")
    apply_change(edited)
    assert (root / "notes.txt").read_bytes() == b"\xef\xbb\xbfthree\r\nfour\r\n"
    apply_change(with_text(propose_write(workspace, "new.txt", "two\n"), "mine\r\n"))
    assert (root / "new.txt").read_bytes() == b"mine\r\n"
    with pytest.raises(WorkspaceError) as error:
        with_text(propose_write(workspace, "a.txt", "two\n"), "\0")
    assert str(error.value) == "the text has a NUL character, which no text file has"


@pytest.mark.parametrize(("path", "text"), [("new.js", "function ("), ("new.py", "def (")])
def test_a_new_file_with_a_syntax_error_warns_the_user(workspace, path, text):
    assert "has a syntax error: line 1" in propose_write(workspace, path, text).warning
