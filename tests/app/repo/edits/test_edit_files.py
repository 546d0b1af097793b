"""An edit changes exactly the text that was shown, keeps everything else of the file, or says why it was not made."""

import fcntl
import os
import resource
import signal
import stat
import struct
import subprocess
import sys
import threading

import pytest

from laguna_tui.agent.changes import Changes
from laguna_tui.base.text_diff import LINE_CHARS
from laguna_tui.repo.edits.edit_files import MAX_PLACES, EditDialect, EditError, propose_edit
from laguna_tui.repo.edits.file_changes import apply_change, propose_write
from laguna_tui.repo.files.source_writer import TemporaryFiles
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError

LENIENT = EditDialect(additions=True, reindents=True)


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    return Workspace(root)


@pytest.fixture
def edit(workspace):
    """Write a file, edit it, and return its bytes afterwards."""

    def edited(data, old, new, *, path="src/cart.py", every=False):
        file = workspace.root / path
        file.write_bytes(data)
        apply_change(propose_edit(workspace, path, old, new, every, dialect=LENIENT))
        return file.read_bytes()

    return edited


@pytest.fixture
def refused(workspace):
    """The sentence with which an edit is refused; nothing in the folder may have changed."""

    def refuse(path, old="total", new="amount", every=False):
        before = snapshot(workspace.root)
        with pytest.raises(WorkspaceError) as caught:
            apply_change(propose_edit(workspace, path, old, new, every, dialect=LENIENT))
        assert snapshot(workspace.root) == before
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return refuse


def snapshot(root):
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and os.access(path, os.R_OK)}


def test_a_proposal_writes_nothing_and_says_what_would_change(workspace):
    (workspace.root / "src/cart.py").write_text("def total(items):\n    return sum(items)\n")
    proposal = propose_edit(workspace, "src/cart.py", "sum(items)", "sum(items, 0)")
    assert (workspace.root / "src/cart.py").read_text() == proposal.before
    assert proposal.after == "def total(items):\n    return sum(items, 0)\n"
    assert (proposal.path, proposal.places, proposal.warning) == ("src/cart.py", 1, "")
    assert proposal.diff == (
        "@@ -1,2 +1,2 @@",
        " def total(items):",
        "-    return sum(items)",
        "+    return sum(items, 0)",
    )


@pytest.mark.parametrize(
    ("data", "after"),
    [
        (b"one\r\ntwo\r\nthree", b"one\r\nTWO\r\nand more\r\nthree"),
        (b"one\rtwo\rthree", b"one\rTWO\rand more\rthree"),
        (b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\nTWO\nand more\n"),
        ("one\ntwo\né".encode("latin-1"), "one\nTWO\nand more\né".encode("latin-1")),
        ("one\ntwo €".encode("cp1252"), "one\nTWO\nand more €".encode("cp1252")),
        ("\ufeffone\r\ntwo".encode("utf-16-le"), "\ufeffone\r\nTWO\r\nand more".encode("utf-16-le")),
        (b"one\ntwo\r\nthree\n", b"one\nTWO\r\nand more\r\nthree\n"),
        (b"two", b"TWO\nand more"),
    ],
)
def test_encoding_line_breaks_and_the_end_of_the_file_stay(edit, data, after):
    assert edit(data, "two", "TWO\nand more", path="src/notes.txt") == after


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_several_lines_are_found_whatever_their_line_breaks(edit, line_break):
    data = b"a\r\nb\r\nc\r\n"
    assert edit(data, f"a{line_break}b", f"x{line_break}y", path="src/notes.txt") == b"x\r\ny\r\nc\r\n"


def with_attribute(file, name, value):
    """Give a file an extended attribute; the test is skipped where the disk has none."""
    if not hasattr(os, "setxattr"):
        pytest.skip("this system has no extended attributes that Python can read")
    try:
        os.setxattr(file, name, value)
    except OSError:
        pytest.skip("this disk has no such attributes")


def test_the_extended_attributes_of_the_file_stay(workspace, edit):
    file = workspace.root / "src/cart.py"
    file.touch()
    with_attribute(file, "user.origin", b"\0here")
    edit(b"total = 1\n", "total", "amount")
    assert {name: os.getxattr(file, name) for name in os.listxattr(file)} == {"user.origin": b"\0here"}


def test_the_access_control_list_of_the_file_stays(workspace, edit):
    """Owner rw, user 12345 rw, group r, mask rw, others nothing: the format of Linux's attribute."""
    file = workspace.root / "src/cart.py"
    file.touch()
    nobody = 0xFFFFFFFF
    entries = ((1, 6, nobody), (2, 6, 12345), (4, 4, nobody), (16, 6, nobody), (32, 0, nobody))
    access = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    with_attribute(file, "system.posix_acl_access", access)
    mode = file.stat().st_mode
    edit(b"total = 1\n", "total", "amount")
    assert os.getxattr(file, "system.posix_acl_access") == access
    assert file.stat().st_mode == mode


def test_the_mode_of_the_file_stays(workspace, edit):
    file = workspace.root / "src/run.sh"
    file.touch()
    file.chmod(0o755)
    edit(b"echo one\n", "one", "two", path="src/run.sh")
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
    assert [path.name for path in file.parent.iterdir()] == ["run.sh"]


def test_all_renames_whole_words(edit):
    data = b"total = subtotal + total\nprint(total_of, Total, total)\n"
    assert edit(data, "total", "amount", every=True) == (
        b"amount = subtotal + amount\nprint(total_of, Total, amount)\n"
    )


def test_all_replaces_other_texts_wherever_they_are(edit):
    assert edit(b"a.b xa.bx\n", "a.b", "c", every=True, path="src/notes.txt") == b"c xcx\n"


def test_a_text_that_is_there_several_times_is_refused_with_its_lines(workspace, refused):
    (workspace.root / "src/cart.py").write_text("total\nx\ntotal\naaa\n")
    assert "2 times in src/cart.py (lines 1, 3); call again with more" in refused("src/cart.py")
    # They overlap, and it would be chance which one was meant.
    assert "2 times" in refused("src/cart.py", "aa", "b")


def test_a_text_that_is_not_there_is_refused(workspace, refused):
    (workspace.root / "src/cart.py").write_text("subtotal\n")
    assert "not in src/cart.py" in refused("src/cart.py", "sum")
    assert "not in src/cart.py" in refused("src/cart.py", every=True)


def test_a_text_that_is_there_but_for_its_blanks_is_refused_with_its_line(workspace, refused):
    (workspace.root / "src/cart.py").write_text("def total(items):\n\treturn  sum(items)\n")
    said = refused("src/cart.py", "    return sum(items)\n\n", "return 0\n")
    assert said == (
        "the old text is not in src/cart.py, but line 2 looks like it: it has a tab where old has 4 spaces; call again"
        " with text as it stands"
    )


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [("", "x", "creates no files"), ("a\r\nb", "a\nb", "are the same"), ("a", "\0", "NUL")],
)
def test_texts_that_make_no_edit_are_refused(workspace, refused, old, new, sentence):
    (workspace.root / "src/cart.py").write_text("a\nb\n")
    assert sentence in refused("src/cart.py", old, new)


def test_too_many_places_are_refused(workspace, refused):
    (workspace.root / "src/cart.py").write_text("total\n" * (MAX_PLACES + 1))
    assert "more than 1,000 times" in refused("src/cart.py", every=True)


def test_the_end_of_a_path_names_the_only_file_that_ends_so(workspace, edit):
    (workspace.root / "src/shop").mkdir()
    (workspace.root / "src/shop/cart.py").write_text("total\n")
    apply_change(propose_edit(workspace, "shop/cart.py", "total", "amount"))
    assert (workspace.root / "src/shop/cart.py").read_text() == "amount\n"


def test_the_end_of_several_paths_names_none(workspace, refused):
    for folder in ("a", "b"):
        (workspace.root / folder).mkdir()
        (workspace.root / folder / "cart.py").write_text("total\n")
    assert "could be a/cart.py or b/cart.py" in refused("cart.py")
    assert "there is no file art.py" in refused("art.py")


def test_a_file_that_does_not_exist_is_not_made_and_the_nearest_is_named(workspace, refused):
    (workspace.root / "src/cart.py").write_text("total\n")
    assert "there is no file src/card.py to edit; the nearest is src/cart.py" in refused("src/card.py")
    assert "use find" in refused("src/something_else.rs")


def test_a_link_inside_the_folder_stays_a_link(workspace, edit):
    (workspace.root / "link.py").symlink_to("src/cart.py")
    (workspace.root / "src/cart.py").write_text("total\n")
    proposal = propose_edit(workspace, "link.py", "total", "amount")
    apply_change(proposal)
    assert proposal.path == "src/cart.py"
    assert (workspace.root / "link.py").is_symlink()
    assert (workspace.root / "src/cart.py").read_text() == "amount\n"


def test_nothing_outside_of_the_folder_and_nothing_of_git_is_changed(workspace, refused, tmp_path):
    (tmp_path / "secret.py").write_text("total\n")
    (workspace.root / "out.py").symlink_to(tmp_path / "secret.py")
    (workspace.root / ".git").mkdir()
    (workspace.root / ".git/config").write_text("total\n")
    (workspace.root / "git.py").symlink_to(".git/config")
    for path in ("../secret.py", str(tmp_path / "secret.py"), "out.py"):
        assert "folder" in refused(path)
    for path in (".git/config", ".GIT/config", "git.py", "./src/../.git/config"):
        assert refused(path)
    assert (tmp_path / "secret.py").read_text() == "total\n"


def test_what_is_no_text_file_is_refused(workspace, refused):
    (workspace.root / "image.png").write_bytes(b"\x89PNG\0total")
    os.mkfifo(workspace.root / "pipe")
    assert "binary" in refused("image.png")
    assert "not a regular file" in refused("pipe")
    assert "is a folder" in refused("src")


def test_a_file_with_other_names_is_asked_about_and_they_keep_the_old_text(workspace, tmp_path):
    path, store, twin = workspace.root / "linked.py", tmp_path / "store.py", workspace.root / "twin.py"
    path.write_text("total = 1\n")
    assert propose_edit(workspace, "linked.py", "total", "amount").approval_reason == ""
    store.hardlink_to(path)
    why = "the file has 1 other name (a hard link), perhaps outside the folder, and is changed under this one only"
    proposal = propose_edit(workspace, "linked.py", "total", "amount")
    assert proposal.approval_reason == why
    assert proposal.warning == f"This always needs your approval: {why}."
    twin.hardlink_to(path)
    for change in (propose_edit(workspace, "linked.py", "total", "amount"), propose_write(workspace, "twin.py", "x\n")):
        assert change.approval_reason == why.replace("1 other name (a hard link)", "2 other names (hard links)")
        apply_change(change)
    assert [each.read_text() for each in (path, twin, store)] == ["amount = 1\n", "x\n", "total = 1\n"]


def test_what_a_rule_of_the_table_says_comes_before_other_names(workspace, tmp_path):
    (workspace.root / "AGENTS.md").write_text("total\n")
    (tmp_path / "other.md").hardlink_to(workspace.root / "AGENTS.md")
    assert propose_edit(workspace, "AGENTS.md", "total", "x").approval_reason == "coding assistants follow it"


def in_file(workspace, name, data, old, new):
    """The bytes of a file after an edit."""
    (workspace.root / name).write_bytes(data)
    apply_change(propose_edit(workspace, name, old, new))
    return (workspace.root / name).read_bytes()


def test_an_edit_is_written_in_the_encoding_that_the_file_declares(workspace):
    declared = b"# coding: latin-1\nx = 'e'\n"
    assert in_file(workspace, "a.py", declared, "'e'", "'é'") == b"# coding: latin-1\nx = '\xe9'\n"
    xml = b'<?xml version="1.0" encoding="windows-1251"?>\n<a>x</a>\n'
    assert in_file(workspace, "a.xml", xml, ">x<", ">я<") == xml.replace(b">x<", b">\xff<")


def test_an_edit_that_changes_the_declaration_changes_the_encoding(workspace):
    data = "# coding: latin-1\nx = 'é'\n".encode("latin-1")
    assert in_file(workspace, "a.py", data, "# coding: latin-1\n", "") == "x = 'é'\n".encode()
    assert in_file(workspace, "b.py", "x = 'é'\n".encode(), "x =", "# coding: latin-1\nx =") == data


def test_an_edit_of_a_file_with_one_bad_byte_keeps_the_byte_and_writes_utf8(workspace):
    data = "ä = 'ü'\n# ".encode() + b"\xe9\ntotal\n"
    assert in_file(workspace, "a.py", data, "total", "é") == data.replace(b"total", "é".encode())


def test_in_a_guessed_encoding_only_characters_that_the_file_has_are_written(workspace, refused):
    data = "café\ntotal\n".encode("latin-1")
    assert in_file(workspace, "a.txt", data, "total", "thé") == "café\nthé\n".encode("latin-1")
    said = (
        "a.txt does not say in which encoding it is; cp1252 is guessed, so U+00E0 cannot be written safely: call again"
        " with ASCII and characters that the file already has"
    )
    assert refused("a.txt", "thé", "à") == said
    sjis = "表示\ntotal\n".encode("shift_jis")
    assert in_file(workspace, "b.txt", sjis, "total", "sum") == sjis.replace(b"total", b"sum")
    assert "guessed" in refused("b.txt", "sum", "é")


@pytest.mark.parametrize(
    ("config", "written"),
    [
        ("[*]\ncharset = latin1\n", b"\xe9"),
        ("\ufeffroot = true\n\n[*.{c,TXT,txt}]\ncharset=Latin1\n", b"\xe9"),
        ("[docs/**.txt]\ncharset = latin1\n", b"\xe9"),
        ("[a.[ht]xt]\ncharset = latin1\n", b"\xe9"),
        ("[*]\ncharset = latin1\n[*.txt]\ncharset = utf-8\n", "é".encode()),
        ("[*.py]\ncharset = latin1\n", "é".encode()),
        ("[docs/*/*.txt]\ncharset = latin1\n", "é".encode()),
        ("[*.{" + "{a,b}" * 40 + ",txt}]\ncharset = latin1\n", "é".encode()),
    ],
)
def test_an_encoding_that_editorconfig_names_counts(workspace, config, written):
    (workspace.root / ".editorconfig").write_text(config, encoding="utf-8")
    (workspace.root / "docs").mkdir()
    assert in_file(workspace, "docs/a.txt", b"total\n", "total", "é") == written + b"\n"
    apply_change(propose_write(workspace, "docs/new.txt", "é\n"))
    if "a.[" not in config:
        assert (workspace.root / "docs/new.txt").read_bytes() == written + b"\n"


def test_the_nearest_editorconfig_wins_and_a_pipe_is_none(workspace):
    (workspace.root / ".editorconfig").write_text("[*]\ncharset = latin1\n")
    (workspace.root / "docs/inner").mkdir(parents=True)
    (workspace.root / "docs/.editorconfig").write_text("root = true\n[*.py]\ncharset = latin1\n")
    os.mkfifo(workspace.root / "docs/inner/.editorconfig")
    assert in_file(workspace, "docs/inner/a.txt", b"total", "total", "é") == "é".encode()
    assert in_file(workspace, "a.txt", b"total", "total", "é") == b"\xe9"


def test_a_new_file_gets_the_encoding_that_it_or_editorconfig_declares(workspace):
    apply_change(propose_write(workspace, "a.py", "# coding: latin-1\nx = 'é'\n"))
    assert (workspace.root / "a.py").read_bytes() == "# coding: latin-1\nx = 'é'\n".encode("latin-1")
    (workspace.root / ".editorconfig").write_text("[*.txt]\ncharset = utf-8-bom\n[*.reg]\ncharset = utf-16le\n")
    for name, data in {"a.txt": "\ufeffé".encode(), "a.reg": "\ufeffé".encode("utf-16-le")}.items():
        apply_change(propose_write(workspace, name, "é"))
        assert (workspace.root / name).read_bytes() == data


NFC, NFD = "caf\u00e9", "cafe\u0301"


@pytest.mark.parametrize(("there", "named"), [(NFC, NFD), (NFD, NFC)], ids=["NFD for NFC", "NFC for NFD"])
def test_a_name_in_another_normal_form_is_the_same_file(workspace, there, named):
    folder = workspace.root / there
    folder.mkdir()
    (folder / f"{there}.py").write_text("total = 1\n")
    for path in (f"{named}/{named}.py", f"{there}/{named}.py", str(workspace.root / named / f"{named}.py")):
        assert workspace.locate(path) == f"{there}/{there}.py"
    apply_change(propose_edit(workspace, f"{named}.py", "total", "amount"))
    apply_change(propose_write(workspace, f"{named}/{named}.py", "amount = 2\n"))
    apply_change(propose_write(workspace, f"{named}/new.py", "x\n"))
    assert workspace.read(f"{there}/{there}.py") == b"amount = 2\n"
    assert sorted(each.name for each in folder.iterdir()) == sorted([f"{there}.py", "new.py"])
    names = [each.name for each in workspace.root.iterdir()]
    assert there in names
    assert named not in names


def test_where_both_forms_exist_each_is_its_own_file(workspace):
    for name in (NFC, NFD):
        (workspace.root / name).write_text(name)
    if len(list(workspace.root.glob("caf*"))) == 2:  # a file system that keeps them apart
        assert [workspace.locate(name) for name in (NFC, NFD)] == [NFC, NFD]


@pytest.mark.parametrize(
    ("line", "old", "difference"),
    [
        ("x = 1", "x\N{NO-BREAK SPACE}= 1", "a space where old has a no-break space (U+00A0)"),
        ("x\N{NO-BREAK SPACE}= 1", "x = 1", "a no-break space (U+00A0) where old has a space"),
        ("x =\r 1", "x = 1", "a carriage return and a space where old has a space"),
        ("x =\t 1", "x =  1", "a tab and a space where old has 2 spaces"),
        ("x\N{ZERO WIDTH SPACE} = 1", "x = 1", "a zero width space (U+200B) and a space where old has a space"),
        (
            "cafe\u0301 = 1",
            "caf\u00e9 = 1",
            "'cafe\u0301' in the normal form NFD where old has 'caf\u00e9' in the normal form NFC",
        ),
    ],
)
def test_what_differs_in_lines_that_look_the_same_is_said(workspace, refused, line, old, difference):
    (workspace.root / "src/cart.py").write_text(f"# comment\n{line}\ny = 2\n", newline="")
    said = refused("src/cart.py", f"{old}\ny = 2\n", "z = 3\n")
    assert said.startswith(f"the old text is not in src/cart.py, but line 2 looks like it: it has {difference}; ")


def test_a_character_that_the_files_encoding_lacks_is_refused(workspace, refused):
    (workspace.root / "old.py").write_bytes("# coding: latin-1\né = total".encode("latin-1"))
    said = "old.py is written in iso8859-1, which has no character U+4E2D; call again without it"
    assert refused("old.py", "total", "\u4e2d") == said
    (workspace.root / "new.txt").write_text("total")
    assert "has no character U+D800" in refused("new.txt", "total", "\ud800")


def test_a_read_only_file_is_refused(workspace, refused):
    file = workspace.root / "src/cart.py"
    file.write_text("total\n")
    file.chmod(0o444)
    assert refused("src/cart.py") == "src/cart.py is read-only; it has to be made writable first"


def test_a_file_that_changed_since_it_was_proposed_is_left_alone(workspace):
    file = workspace.root / "src/cart.py"
    file.write_text("total\n")
    proposal = propose_edit(workspace, "src/cart.py", "total", "amount")
    file.write_text("total # mine\n")
    with pytest.raises(WorkspaceError, match="changed since"):
        apply_change(proposal)
    assert file.read_text() == "total # mine\n"


@pytest.mark.parametrize("away", ["file", "folder"])
def test_a_file_that_is_gone_since_it_was_proposed_is_not_made_again(workspace, away):
    file = workspace.root / "src/cart.py"
    file.write_text("total\n")
    proposal = propose_edit(workspace, "src/cart.py", "total", "amount")
    gone = file if away == "file" else file.parent
    gone.rename(workspace.root / "away")
    with pytest.raises(WorkspaceError, match="changed since"):
        apply_change(proposal)
    assert not file.exists()


def test_a_link_put_in_a_files_place_is_not_followed(workspace, tmp_path):
    file, secret = workspace.root / "src/cart.py", tmp_path / "secret.py"
    file.write_text("total\n")
    secret.write_text("total\n")
    proposal = propose_edit(workspace, "src/cart.py", "total", "amount")
    file.unlink()
    file.symlink_to(secret)
    with pytest.raises(WorkspaceError, match="cannot be changed"):
        apply_change(proposal)
    assert secret.read_text() == "total\n"


def test_where_locks_exclude_nobody_no_temporary_file_is_taken_for_a_killed_process(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, operation: None)
    path = tmp_path / f".laguna-tui-{'0' * 16}.tmp"
    path.write_text("being written")
    with TemporaryFiles(tmp_path / "notes").noted(path):
        TemporaryFiles(tmp_path / "notes").sweep()
        assert path.exists()


def test_a_full_disk_leaves_the_file_as_it_was(workspace):
    file = workspace.root / "src/cart.py"
    file.write_text("total\n" + "x" * 5000)
    proposal = propose_edit(workspace, "src/cart.py", "total", "amount")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(WorkspaceError, match="cannot be changed"):
            apply_change(proposal)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert file.read_text() == "total\n" + "x" * 5000
    assert [path.name for path in file.parent.iterdir()] == ["cart.py"]


KILLED = """
import os, signal, sys
from pathlib import Path
from laguna_tui.repo.edits.edit_files import propose_edit
from laguna_tui.repo.edits.file_changes import apply_change
from laguna_tui.repo.files.source_writer import TemporaryFiles
from laguna_tui.repo.files.workspace import Workspace

os.replace = lambda *arguments, **options: os.kill(os.getpid(), signal.SIGKILL)
workspace = Workspace(Path(sys.argv[1]))
proposal = propose_edit(workspace, "src/cart.py", "total", "amount")
apply_change(proposal, TemporaryFiles(Path(sys.argv[2])))
"""


@pytest.fixture
def notes(tmp_path):
    return tmp_path / "state/edits"


@pytest.fixture
def killed(workspace, notes):
    """The new file that an edit left, whose process was killed in the moment before it would have counted."""
    (workspace.root / "src/cart.py").write_text("total\n")
    command = [sys.executable, "-c", KILLED, str(workspace.root), str(notes)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    (left,) = (workspace.root / "src").glob(".laguna-tui-*")
    return left


def test_what_a_killed_edit_left_is_removed_by_the_next_session(workspace, killed, tmp_path):
    assert killed.read_text() == "amount\n"
    Changes(state=tmp_path / "state")
    assert [path.name for path in (workspace.root / "src").iterdir()] == ["cart.py"]
    assert (workspace.root / "src/cart.py").read_text() == "total\n"
    assert list((tmp_path / "state/edits").iterdir()) == []


def test_what_another_session_is_writing_is_left_alone(workspace, notes, monkeypatch):
    (workspace.root / "src/cart.py").write_text("total\n")
    real, swept = os.replace, []

    def replace(*arguments, **options):
        TemporaryFiles(notes).sweep()
        swept.append(True)
        real(*arguments, **options)

    monkeypatch.setattr(os, "replace", replace)
    apply_change(propose_edit(workspace, "src/cart.py", "total", "amount"), TemporaryFiles(notes))
    assert swept
    assert (workspace.root / "src/cart.py").read_text() == "amount\n"
    assert list(notes.iterdir()) == []


def test_only_what_a_note_names_is_removed(workspace, killed, notes):
    (note,) = notes.iterdir()
    other = workspace.root / f"src/.laguna-tui-{'0' * 16}.tmp"
    other.write_text("somebody's own")
    note.write_bytes(os.fsencode(workspace.root / "src/cart.py"))
    TemporaryFiles(notes).sweep()
    assert killed.exists()
    assert other.exists()
    assert (workspace.root / "src/cart.py").exists()


def test_a_link_in_the_place_of_what_was_left_is_not_removed(workspace, killed, notes):
    killed.unlink()
    killed.symlink_to("cart.py")
    TemporaryFiles(notes).sweep()
    assert killed.is_symlink()
    assert (workspace.root / "src/cart.py").exists()


@pytest.mark.timeout(30)
def test_a_note_that_is_no_file_is_passed_over(notes):
    notes.mkdir(parents=True)
    pipe = notes / f".laguna-tui-{'0' * 16}.tmp"
    os.mkfifo(pipe)
    TemporaryFiles(notes).sweep()
    assert pipe.is_fifo()


def test_lines_that_lack_their_indentation_get_it_where_python_needs_it(edit):
    data = b"class Cart:\n    def total(self):\n        return 1\n"
    new = 'def total(self):\n    """The sum."""\n\n    x = 1'
    assert edit(data, "def total(self):", new) == (
        b'class Cart:\n    def total(self):\n        """The sum."""\n\n        x = 1\n        return 1\n'
    )


def test_lines_that_need_no_indentation_stay_as_they_are_written(edit):
    data = b"class Cart:\n    def total(self):\n        return 1\n"
    new = 'def total(self):\n        """The sum."""'
    assert edit(data, "def total(self):", new) == (
        b'class Cart:\n    def total(self):\n        """The sum."""\n        return 1\n'
    )


def test_a_dialect_may_take_texts_only_as_they_stand(workspace, refused):
    (workspace.root / "src/cart.py").write_text(BROKEN)
    exact = EditDialect(additions=False, reindents=False)
    with pytest.raises(EditError, match="the old text is not in"):
        propose_edit(workspace, "src/cart.py", HEAD, f'{HEAD}\n    """The sum."""', dialect=exact)
    proposal = propose_edit(workspace, "src/cart.py", ") -> int:", ') -> int:\n"""The sum."""', dialect=exact)
    assert ') -> int:\n"""The sum."""\n' in proposal.after
    assert proposal.warning.startswith("After this edit the file is no longer valid Python")


HEAD = "def total(self, items: list[int], *, start: int = 0) -> int:"
BROKEN = """class Cart:
    def total(
        self,
        items: list[int],
        *,
        start: int = 0,
    ) -> int:
        return sum(items, start)
"""


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_what_only_adds_to_a_text_finds_it_broken_into_other_lines(edit, line_break):
    data = BROKEN.replace("\n", line_break).encode()
    after = BROKEN.replace(") -> int:\n", ') -> int:\n        """The sum."""\n').replace("\n", line_break).encode()
    assert edit(data, HEAD, f'{HEAD}\n    """The sum."""') == after
    assert edit(data, HEAD, f'{HEAD}\n        """The sum."""') == after


def test_what_replaces_a_text_does_not_find_it_broken_into_other_lines(workspace, refused):
    (workspace.root / "src/cart.py").write_text(BROKEN)
    assert "not in src/cart.py" in refused("src/cart.py", HEAD, "def total(self):")
    assert "not in src/cart.py" in refused("src/cart.py", HEAD, HEAD + "\n    pass", every=True)
    assert "not in src/cart.py" in refused("src/cart.py", HEAD.replace("items", "item"), HEAD + "\n    pass")


def test_what_adds_to_a_text_that_is_there_twice_is_refused_with_its_lines(workspace, refused):
    (workspace.root / "src/cart.py").write_text(BROKEN + BROKEN)
    assert "2 times in src/cart.py (lines 2, 10)" in refused("src/cart.py", HEAD, f'{HEAD}\n    """The sum."""')


def test_a_text_like_it_with_a_sea_of_blanks_is_left_in_no_time(workspace, refused):
    (workspace.root / "src/cart.py").write_text("total(a" + " " * 1_000_000 + "b)\n")
    assert "not in src/cart.py" in refused("src/cart.py", "total(a):", "total(a):\n    pass")


@pytest.mark.parametrize(("text", "old"), [("def subtotal( a ):\n", "total(a):"), ("total(a):x\n", "total(a) :xy")])
def test_what_adds_to_a_text_finds_whole_words_only(workspace, refused, text, old):
    (workspace.root / "src/cart.txt").write_text(text)
    assert "not in src/cart.txt" in refused("src/cart.txt", old, old + "\n    pass")


def test_an_edit_that_breaks_a_python_file_says_so(workspace):
    (workspace.root / "src/cart.py").write_text("def total(items):\n    return 1\n")
    warning = propose_edit(workspace, "src/cart.py", "return 1", "return (1").warning
    assert warning == "After this edit the file is no longer valid Python: '(' was never closed in line 2."


@pytest.mark.parametrize(("path", "data"), [("src/old.py", "print 'total'\n"), ("src/notes.txt", "total\n")])
def test_what_was_no_python_before_is_not_judged(workspace, path, data):
    (workspace.root / path).write_text(data)
    assert propose_edit(workspace, path, "total", "(").warning == ""


def test_python_that_only_makes_the_parser_warn_or_give_up_is_edited(workspace, recwarn):
    (workspace.root / "src/a.py").write_text('x = "\\d"\ntotal = 1\n')
    (workspace.root / "src/b.py").write_text("-" * 100_000 + "total\n")
    for path in ("src/a.py", "src/b.py"):
        assert propose_edit(workspace, path, "total", "amount").warning == ""
    assert not recwarn.list


def test_a_large_file_is_edited(edit):
    data = b"line of some text\n" * 600_000
    after = edit(data + b"total\n" + data, "total", "amount", path="src/log.txt")
    assert after == data + b"amount\n" + data


def test_a_line_too_long_to_be_shown_is_cut_around_the_change_and_said_so(workspace):
    (workspace.root / "min.js").write_text("x" * 50_000 + "total" + "y" * 50_000)
    proposal = propose_edit(workspace, "min.js", "total", "amount")
    assert "longer than the 4,000 characters" in proposal.warning
    assert all(len(line) < LINE_CHARS + 4 for line in proposal.diff)
    assert "amount" in proposal.diff[2]


def test_who_reads_the_file_meanwhile_finds_one_of_its_texts_whole(workspace):
    file = workspace.root / "src/cart.py"
    texts = {letter: letter * 200_000 for letter in "ab"}
    file.write_text(texts["a"] + "0")
    done, seen = threading.Event(), set()

    def look():
        while not done.is_set():
            seen.add(file.read_text())

    thread = threading.Thread(target=look)
    thread.start()
    for number in range(40):
        before, after = ("a", "b") if number % 2 == 0 else ("b", "a")
        apply_change(
            propose_edit(workspace, "src/cart.py", texts[before] + str(number), texts[after] + str(number + 1))
        )
    done.set()
    thread.join()
    whole = {texts["ab"[number % 2]] + str(number) for number in range(41)}
    assert seen <= whole
    assert len(seen) > 1
