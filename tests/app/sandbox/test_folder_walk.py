"""The walk that finds what commands must not change or read, and what it reads again."""

import os
import shutil
import threading
import time
from itertools import count

import pytest

from laguna_tui.sandbox.folder_listing import PathRules
from laguna_tui.sandbox.folder_walk import FolderWalk, fullest_folder
from tests.app.sandbox.world import NOBODY, Forked

RULES = PathRules(unreadable=("data/**", "*.note"), unwritable=("migrations/**",))


def much_later():
    """A clock for which every folder changed long ago, so that all are remembered at once."""
    return time.time_ns() + 60_000_000_000


def write(top, *paths):
    for path in paths:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text("x")


def names(top, paths):
    return [str(path.relative_to(top)) for path in paths]


def tick(folder):
    """Wait until a change of the folder gets another ctime than its last one."""
    before = folder.stat().st_ctime_ns
    for number in count():
        (folder / f"tick-{number}").touch()
        (folder / f"tick-{number}").unlink()
        if folder.stat().st_ctime_ns != before:
            return


@pytest.fixture
def top(tmp_path):
    folder = tmp_path / "top"
    folder.mkdir()
    return folder


@pytest.fixture
def walk(top):
    return FolderWalk(top, clock=much_later)


def test_everything_is_found_nearest_first(top, walk):
    write(top, "a/b/AGENTS.md", "a/.vscode/tasks.json", "z.pem", "a/b/.env", ".github/workflows/x.yml", "a/b/c.py")
    write(top, "data/x", "a/A.Note", "migrations/1.sql")
    found = walk.read(RULES)
    protected = names(top, found.protected)
    assert (sorted(protected[:2]), protected[2:]) == ([".github/workflows", "a/.vscode"], ["a/b/AGENTS.md"])
    assert names(top, found.secrets) == ["z.pem", "a/b/.env"]
    assert sorted(names(top, found.unreadable)) == ["a/A.Note", "data"]
    assert names(top, found.unwritable) == ["migrations"]
    status = (top / "a/b/AGENTS.md").stat()
    assert found.protected[top / "a/b/AGENTS.md"] == (status.st_dev, status.st_ino)


def test_a_secret_behind_a_thousand_others_is_found(top, walk):
    write(top, *(f"k{number}.pem" for number in range(1_010)), "config/.env")
    assert len(walk.read().secrets) == 1_011
    assert walk.read().secrets[-1] == top / "config/.env"


def test_a_rule_holds_behind_fifty_thousand_files(top, walk):
    write(top, "empty", "z/d1/data/x")
    (top / "full").mkdir()
    for number in range(50_010):
        os.link(f"{top}/empty", f"{top}/full/{number}")
    found = walk.read(PathRules(unreadable=("z/d1/data/**",)))
    shutil.rmtree(top / "full")
    assert found.unreadable == (top / "z/d1/data",)
    assert found.filled_by is None


def test_a_protected_file_in_each_of_many_folders_is_found(top, walk):
    write(top, *(f"package{number}/AGENTS.md" for number in range(210)))
    assert len(walk.read().protected) == 210


def test_unchanged_folders_are_not_read_again(top, walk):
    write(top, "a/x", "b/c/x", "b/.env")
    first = walk.read()
    assert first.listed == 4
    again = walk.read()
    assert again.listed == 0
    assert (again.protected, again.secrets) == (first.protected, first.secrets)
    tick(top / "b/c")
    assert walk.read().listed == 1


@pytest.mark.parametrize("change", ["new", "gone", "replaced", "moved"])
def test_a_change_far_down_is_found(top, walk, change):
    write(top, "a/b/AGENTS.md", "a/b/.env", "c/x", "new")
    before = walk.read()
    tick(top / "a/b")
    tick(top / "a")
    match change:
        case "new":
            write(top, "a/b/d/.env")
            assert names(top, walk.read().secrets) == ["a/b/.env", "a/b/d/.env"]
        case "gone":
            (top / "a/b/.env").unlink()
            assert walk.read().secrets == ()
        case "replaced":
            (top / "new").rename(top / "a/b/AGENTS.md")
            assert walk.read().protected != before.protected
        case "moved":
            (top / "a/b").rename(top / "a/z")
            assert names(top, walk.read().secrets) == ["a/z/.env"]


def test_a_time_that_was_set_back_hides_no_change(top, walk):
    write(top, "a/x")
    walk.read()
    tick(top / "a")
    times = (top / "a").stat()
    write(top, "a/.env")
    os.utime(top / "a", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert walk.read().secrets == (top / "a/.env",)


def test_a_folder_that_changed_in_the_moment_of_reading_is_read_again(top):
    write(top, "a/x")
    newest = max(top.stat().st_ctime_ns, (top / "a").stat().st_ctime_ns)
    now = newest
    walk = FolderWalk(top, clock=lambda: now)
    assert walk.read().listed == 2
    assert walk.read().listed == 2, "it may have changed again within the same tick of the clock"
    write(top, "a/.env")
    assert walk.read().secrets == (top / "a/.env",)
    now = newest + 60_000_000_000
    assert walk.read().listed == 2
    assert walk.read().listed == 0


def test_a_folder_of_the_future_is_read_again(top):
    write(top, "a/x")
    walk = FolderWalk(top, clock=lambda: 0)
    assert [walk.read().listed for _ in range(3)] == [2, 2, 2]


def test_another_folder_in_the_place_of_one_is_read(top, walk, tmp_path):
    write(top, "a/b/x")
    write(tmp_path, "other/b/.env")
    walk.read()
    tick(top)
    (top / "a").rename(tmp_path / "gone")
    (tmp_path / "other").rename(top / "a")
    assert walk.read().secrets == (top / "a/b/.env",)


def test_a_link_in_the_place_of_a_folder_leads_nowhere(top, walk, tmp_path):
    write(top, "a/b/.env")
    write(tmp_path, "outside/b/.env", "outside/AGENTS.md")
    walk.read()
    tick(top)
    (top / "a").rename(tmp_path / "gone")
    (top / "a").symlink_to(tmp_path / "outside")
    found = walk.read()
    assert (found.secrets, dict(found.protected)) == ((), {})


@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
def test_a_link_that_takes_the_place_of_a_folder_while_it_is_read_leads_nowhere(top, tmp_path, again):
    write(top, "a/b/x")
    write(tmp_path, "outside/b/.env", "outside/AGENTS.md")
    asked = list[int]()

    def clock():
        """Called before each folder is opened: the first is the top, or the one that changed."""
        asked.append(1)
        if len(asked) == at and not (top / "a").is_symlink():
            (top / "a").rename(tmp_path / "gone")
            (top / "a").symlink_to(tmp_path / "outside")
        return much_later()

    walk, at = FolderWalk(top, clock=clock), 4 if again else 2
    if again:
        walk.read()
        tick(top / "a/b")
        tick(top / "a")
    found = walk.read()
    assert (top / "a").is_symlink()
    assert (found.secrets, dict(found.protected)) == ((), {})


def test_links_are_listed_and_not_followed(top, walk, tmp_path):
    write(tmp_path, "outside/.env")
    (top / "linked").symlink_to(tmp_path / "outside")
    (top / ".env").symlink_to("x")
    (top / "AGENTS.md").symlink_to("x")
    (top / "data").symlink_to(tmp_path / "outside")
    found = walk.read(RULES)
    assert (found.secrets, tuple(found.protected)) == ((top / ".env",), (top / "AGENTS.md",))
    assert found.unreadable == (top / "data",)


@pytest.mark.parametrize("folder", ["node_modules", ".venv/lib", "a/__pycache__"])
def test_rules_and_secrets_hold_in_folders_of_dependencies_too(top, walk, folder):
    write(top, *(f"{folder}/{name}" for name in ("package/.env", "x.note", "roots.pem", "package/AGENTS.md")))
    found = walk.read(RULES)
    assert names(top, found.secrets) == [f"{folder}/package/.env"]
    assert names(top, found.unreadable) == [f"{folder}/x.note"]
    assert found.protected == {}


def test_secrets_and_rules_hold_in_protected_folders_too(top, walk):
    write(top, ".devcontainer/.env", ".claude/x.note", ".claude/commands/AGENTS.md")
    found = walk.read(RULES)
    assert names(top, found.secrets) == [".devcontainer/.env"]
    assert names(top, found.unreadable) == [".claude/x.note"]
    assert sorted(names(top, found.protected)) == [".claude", ".devcontainer"]


def test_only_protected_files_are_found_in_a_hidden_folder(top, walk):
    write(top, "data/AGENTS.md", "data/.env", "data/x.note", ".aws/credentials", ".aws/AGENTS.md")
    found = walk.read(RULES)
    assert names(top, found.protected) == ["data/AGENTS.md"]
    assert names(top, found.secrets) == [".aws"]
    assert names(top, found.unreadable) == ["data"]
    assert walk.read(PathRules()).protected == found.protected


def test_a_repository_without_a_work_tree_is_found_by_its_shape(top, walk):
    for folder in ("objects", "refs", "hooks"):
        (top / "x" / folder).mkdir(parents=True)
    write(top, "x/HEAD", "x/config", "y/HEAD", "y/config")
    assert sorted(names(top, walk.read().protected)) == ["x/HEAD", "x/config", "x/hooks"]


def test_with_other_rules_everything_is_read_again_and_without_any_those_of_before_hold(top, walk):
    write(top, "data/x", "b/x.note")
    assert walk.read().unreadable == ()
    assert names(top, walk.read(RULES).unreadable) == ["data", "b/x.note"]
    assert names(top, walk.read().unreadable) == ["data", "b/x.note"]
    assert walk.read().listed == 0
    assert walk.read(PathRules()).unreadable == ()


def test_a_limit_names_the_folder_that_filled_it(top):
    write(top, "a/x", "z/x", *(f"m/full/{number}" for number in range(20)))
    walk = FolderWalk(top, max_entries=25, clock=much_later)
    found = walk.read()
    assert found.filled_by == top / "m/full"
    assert walk.read().filled_by == top / "m/full"
    assert walk.read().listed == 0
    tick(top / "m/full")
    (top / "m/full/1").unlink()
    (top / "m/full/2").unlink()
    (top / "m/full/3").unlink()
    write(top, "z/.env")
    assert (walk.read().filled_by, walk.read().secrets) == (None, (top / "z/.env",))


def test_a_folder_at_the_limit_is_not_read_to_its_end(top):
    write(top, *(str(number) for number in range(20)))
    found = FolderWalk(top, max_entries=10).read()
    assert found.filled_by == top


def test_folders_that_are_too_deep_are_hidden(top, walk):
    deep = "/".join("d" for _ in range(160))
    (top / deep).mkdir(parents=True)
    long = "/".join("l" * 250 for _ in range(5))
    (top / long).mkdir(parents=True)
    [first, second] = walk.read().secrets
    assert (top / long).is_relative_to(first)
    assert (top / deep).is_relative_to(second)


def test_a_folder_that_only_a_command_could_list_is_hidden():
    def closed(base):
        write(base, "top/closed/.env", "top/x")
        (base / "top/closed").chmod(0)
        found = FolderWalk(base / "top").read()
        (base / "top/closed").chmod(0o700)
        return names(base / "top", found.secrets)

    assert Forked(NOBODY if os.getuid() == 0 else None, closed).text() == '["closed"]'


def test_a_top_that_cannot_be_read_is_an_error(top, walk):
    walk.read()
    top.rmdir()
    with pytest.raises(FileNotFoundError):
        walk.read()


def test_several_threads_may_read_at_once(top, walk):
    write(top, *(f"{number}/.env" for number in range(50)))
    found = []
    threads = [threading.Thread(target=lambda: found.append(walk.read())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.secrets for each in found} == {walk.read().secrets}
    assert sum(each.listed for each in found) == 51


@pytest.mark.parametrize(
    ("counts", "folder"),
    [({"": 3, "a": 2}, ""), ({"a/b": 6, "a/c": 3, "": 2}, "a/b"), ({"a/b": 4, "a/c": 4, "": 2}, "a"), ({}, "")],
)
def test_the_fullest_folder_holds_more_than_half(counts, folder):
    assert fullest_folder(counts) == folder
