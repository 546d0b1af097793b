"""Trust as a user meets it: what it covers, where it ends, and what happens to its file."""

import json
import os
import stat
import threading
from pathlib import Path

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.cli.main import main
from laguna_tui.context.trust import FILE, TEXTS, Trust, project_root
from tests.app.repo.conftest import git


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    return tmp_path / "xdg" / "laguna-tui"


@pytest.fixture
def trust(state):
    return Trust(state)


@pytest.fixture
def project(tmp_path):
    """A real repository with a subfolder."""
    root = tmp_path / "project"
    (root / "src" / "deep").mkdir(parents=True)
    git(root, "init")
    return root


def test_nothing_is_trusted_at_first(trust, project):
    assert not trust.covers(project)
    assert trust.folders() == trust.notes == ()


def test_trusting_a_subfolder_trusts_its_repository_with_everything_in_it(trust, project):
    assert trust.grant(project / "src") == project
    assert all(trust.covers(folder) for folder in (project, project / "src", project / "src" / "deep"))
    assert not trust.covers(project.parent)


def test_trust_ends_where_another_repository_begins(trust, project):
    clone = project / "src" / "clone"
    (clone / "inner").mkdir(parents=True)
    git(clone, "init")
    worktree = project / "worktree"
    worktree.mkdir()
    (worktree / ".git").write_text("gitdir: elsewhere\n")
    trust.grant(project)
    assert not any(trust.covers(folder) for folder in (clone, clone / "inner", worktree))
    assert trust.grant(clone / "inner") == clone
    assert trust.covers(clone)


def test_a_folder_without_a_repository_covers_what_is_below(trust, tmp_path):
    (tmp_path / "plain" / "sub").mkdir(parents=True)
    trust.grant(tmp_path / "plain")
    assert trust.covers(tmp_path / "plain" / "sub")
    assert not trust.covers(tmp_path / "plainer")


def test_links_count_as_what_they_lead_to(trust, project, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(project)
    trust.grant(link)
    assert trust.folders() == (project,)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project / "src" / "out").symlink_to(elsewhere)
    assert not trust.covers(project / "src" / "out")


def test_a_trusted_path_that_became_a_link_elsewhere_is_not_trusted(trust, tmp_path):
    trusted, hostile = tmp_path / "trusted", tmp_path / "hostile"
    trusted.mkdir()
    hostile.mkdir()
    trust.grant(trusted)
    trusted.rmdir()
    trusted.symlink_to(hostile)
    assert not trust.covers(trusted)


@pytest.mark.parametrize("wide", ["/", "home", "above"])
def test_a_folder_that_holds_the_home_folder_cannot_be_trusted(state, tmp_path, monkeypatch, wide):
    home = tmp_path / "users" / "me"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    with pytest.raises(UserError, match="trust one project's folder"):
        Trust(state).grant({"/": Path("/"), "home": home, "above": home.parent}[wide])


def test_a_home_folder_that_is_a_repository_is_no_project(trust, tmp_path, monkeypatch):
    home = tmp_path / "me"
    (home / "notes").mkdir(parents=True)
    git(home, "init")
    monkeypatch.setenv("HOME", str(home))
    assert project_root(home / "notes") == home / "notes"
    assert trust.grant(home / "notes") == home / "notes"


def test_what_was_written_into_the_list_by_hand_cannot_be_too_wide(trust, project, state):
    trust.grant(project)
    (state / FILE).write_text('{"version": 2, "folders": {"/": {}}}')
    assert not trust.covers(project)


def test_revoking_takes_trust_back_also_from_a_folder_that_is_gone(trust, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    trust.grant(folder)
    folder.rmdir()
    assert trust.revoke(folder) == folder
    assert trust.folders() == ()
    assert trust.revoke(folder) is None


def test_revoking_what_is_trusted_through_another_folder_names_that(trust, tmp_path):
    (tmp_path / "plain" / "sub").mkdir(parents=True)
    trust.grant(tmp_path / "plain")
    with pytest.raises(UserError) as error:
        trust.revoke(tmp_path / "plain" / "sub")
    assert str(error.value) == (
        f"{tmp_path}/plain/sub is trusted because {tmp_path}/plain is; run: laguna-tui trust {tmp_path}/plain --revoke"
    )
    assert trust.covers(tmp_path / "plain" / "sub")


def test_the_file_is_the_users_alone(trust, project, state):
    trust.grant(project)
    assert stat.S_IMODE((state / FILE).stat().st_mode) == 0o600


def test_the_texts_are_the_users_alone_and_go_with_the_trust(trust, project, state):
    trust.grant(project, {"AGENTS.md": b"Use tabs."})
    (text,) = (state / TEXTS).iterdir()
    assert stat.S_IMODE(text.stat().st_mode) == 0o600
    assert stat.S_IMODE((state / TEXTS).stat().st_mode) == 0o700
    trust.revoke(project)
    assert list((state / TEXTS).iterdir()) == []


@pytest.mark.timeout(30)
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "zero"])
def test_a_list_that_is_no_file_trusts_nothing_and_says_so(trust, project, state, make):
    state.mkdir(parents=True)
    make(state / FILE)
    assert not trust.covers(project)
    assert "not a regular file" in trust.notes[0] or "written by others" in trust.notes[0]


def test_any_folder_name_is_kept(trust, tmp_path):
    folder = tmp_path / os.fsdecode(b'odd \xff\n"name')
    folder.mkdir()
    trust.grant(folder)
    assert trust.covers(folder)
    assert not trust.covers(tmp_path / "odd")


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b'{"version": 3, "folders": {}}',
        b'{"version": 2, "folders": []}',
        b'{"version": 2, "folders": {"/": {"AGENTS.md": 1}}}',
        b'{"version": 2, "folders": {"relative": {}}}',
        b'{"version": 1, "folders": "/"}',
        b'{"version": 1, "folders": ["relative", 1]}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b" " * (1024 * 1024 + 1),
    ],
    ids="empty torn table newer list hash relative old-list old-relative binary nested huge".split(),
)
def test_a_damaged_file_trusts_nothing_says_so_and_is_moved_aside(trust, project, state, damage):
    trust.grant(project)
    (state / FILE).write_bytes(damage)
    assert not trust.covers(project)
    assert "no folder is trusted, because" in trust.notes[0]
    trust.grant(project / "src")
    assert trust.covers(project)
    assert trust.notes == ()
    assert (state / FILE).with_suffix(".damaged").read_bytes() == damage


def test_a_file_that_others_can_write_is_not_believed(trust, project, state):
    trust.grant(project)
    (state / FILE).chmod(0o666)
    assert not trust.covers(project)
    assert "can be written by others" in trust.notes[0]


def test_a_file_that_another_user_puts_there_while_it_is_opened_is_not_believed(trust, project, state, monkeypatch):
    trust.grant(project)
    path, really_open = state / FILE, os.open

    def swapped(name, *arguments, **options):
        if str(name) == str(path):
            text = path.read_bytes()
            path.unlink()
            path.write_bytes(text)
            path.chmod(0o666)
        return really_open(name, *arguments, **options)

    monkeypatch.setattr(os, "open", swapped)
    assert not trust.covers(project)
    assert "can be written by others" in trust.notes[0]


def test_a_failed_write_leaves_the_list_as_it_was(trust, project, tmp_path, state, monkeypatch):
    trust.grant(project)
    before = (state / FILE).read_bytes()
    other = tmp_path / "other"
    other.mkdir()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError) as error:
        trust.grant(other)
    assert str(error.value) == (
        f"the trusted folders cannot be saved in {state}/trusted.json (No space left on device); make it writable"
    )
    assert (state / FILE).read_bytes() == before
    assert {path.name for path in state.iterdir()} <= {FILE, f"{FILE}.lock"}


def test_several_that_trust_at_once_lose_nothing(state, tmp_path):
    folders = [tmp_path / f"project{number}" for number in range(8)]
    for folder in folders:
        folder.mkdir()
    threads = [threading.Thread(target=Trust(state).grant, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Trust(state).folders() == tuple(folders)


def test_without_a_state_folder_nothing_can_be_trusted(project):
    assert not Trust(None).covers(project)
    with pytest.raises(UserError) as error:
        Trust(None).grant(project)
    assert str(error.value) == "no folder can be trusted in a session that saves no state"


def run(capsys, *arguments):
    code = main(["trust", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_command_trusts_lists_and_revokes(state, project, capsys, monkeypatch):
    monkeypatch.chdir(project / "src")
    assert run(capsys) == (0, f"{project} is trusted; its AGENTS.md applies from the next conversation on\n", "")
    assert run(capsys, "--list") == (0, f"{project}\n", "")
    assert json.loads((state / FILE).read_bytes())["folders"] == {str(project): {}}
    assert run(capsys, "--revoke", project) == (0, f"{project} is no longer trusted\n", "")
    assert run(capsys, "--revoke") == (0, f"{project / 'src'} was not trusted; nothing changed\n", "")
    assert run(capsys, "--list")[1].startswith("no folder is trusted")


def test_the_command_shows_what_changed_since_the_folder_was_trusted(state, project, capsys):
    (project / "AGENTS.md").write_text("Use tabs.\n")
    assert run(capsys, project)[1].splitlines()[1:] == ["AGENTS.md: 1 line, trusted for the first time"]
    (project / "AGENTS.md").write_text("Use tabs.\nObey \x1b[2Jme.\n")
    assert run(capsys, project)[1].splitlines()[1:] == [
        "AGENTS.md: changed since it was trusted", "@@ -1 +1,2 @@", " Use tabs.", "+Obey \u241b[2Jme.",
    ]  # fmt: skip


def test_the_list_says_which_folders_an_earlier_version_trusted(state, project, capsys):
    state.mkdir(parents=True)
    (state / FILE).write_text(json.dumps({"version": 1, "folders": [str(project)]}))
    assert run(capsys, "--list")[1] == f"{project} (by an earlier version; trust it again)\n"


def test_the_list_says_which_folders_are_gone(state, tmp_path, capsys):
    (tmp_path / "gone").mkdir()
    run(capsys, tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert run(capsys, "--list")[1] == f"{tmp_path / 'gone'} (no longer exists)\n"


@pytest.mark.parametrize("arguments", [("/nowhere",), ("--list", "/tmp"), ("/",)])
def test_a_mistake_is_a_sentence(state, capsys, arguments):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("laguna-tui: ")


def test_no_folder_name_reaches_the_terminal_raw(state, tmp_path, capsys):
    folder = tmp_path / "a\x1b]0;title\x07b"
    (folder / "sub").mkdir(parents=True)
    for arguments in ((folder,), ("--list",), ("--revoke", folder / "sub"), ("--revoke", folder)):
        _, out, err = run(capsys, *arguments)
        assert "title" in out + err
        assert not set("\x1b\x07") & set(out + err)
