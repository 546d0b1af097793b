"""A folder that git lists as tracked and that became a link: nothing of what it leads to is ever looked at."""

import shutil

import pytest

from laguna_tui.context.attach import Attacher, AttachOptions
from laguna_tui.context.codebase import Codebase
from laguna_tui.context.completion import completions
from laguna_tui.repo.files.walk import walk
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.repo.search.file_parsing import ParseTask, parse_file
from laguna_tui.repo.search.index import Index
from laguna_tui.repo.search.repository_map import estimated_tokens
from tests.app.repo.conftest import git, write

LONG_S = 60.0
OUTSIDE = "def outside_secret(password):\n    return password\n"
QUESTION = "where is the outside secret password?"


@pytest.fixture
def linked(shop, tmp_path):
    """The shop, with a tracked file below a folder that is a link out of it now, two levels above the file."""
    write(shop, {"lib/deep/keys.py": "def inside_key():\n    return 1\n"})
    git(shop, "add", "-A")
    git(shop, "commit", "-m", "keys")
    shutil.rmtree(shop / "lib")
    write(tmp_path / "elsewhere", {"deep/keys.py": OUTSIDE})
    (shop / "lib").symlink_to(tmp_path / "elsewhere")
    return shop


@pytest.fixture
def codebase(linked, cache):
    opened = Codebase(linked, cache)
    opened.start()
    assert opened.wait(LONG_S)
    yield opened
    opened.close()


def test_git_lists_the_file_but_the_walk_does_not(linked):
    assert "lib/deep/keys.py" not in [entry.path for entry in walk(linked).entries]


def test_a_file_that_is_parsed_is_not_reached_through_a_linked_folder(linked):
    assert parse_file(linked, ParseTask("lib/deep/keys.py")) is None


def test_paths_symbols_search_and_map_have_nothing_of_it(codebase):
    assert "lib/deep/keys.py" not in codebase.paths()
    assert codebase.symbols("outside_secret") == codebase.definitions("outside_secret") == []
    assert not [found for found in codebase.search(QUESTION) if found.unit.path.startswith("lib")]
    assert "outside_secret" not in codebase.map(2000).text


def test_no_completion_offers_it(codebase):
    for typed in ("@outside_sec", "@keys", "@lib/"):
        assert not [each for each in completions(codebase, typed, len(typed)) if "lib" in each.insert + each.detail]


def test_the_prompt_has_nothing_of_it(linked, codebase):
    attacher = Attacher(Workspace(linked), codebase, estimated_tokens, AttachOptions(pack=2000))
    gathered = attacher.gather(QUESTION, 16_000, first=True)
    assert gathered.attachments
    assert "outside_secret" not in "".join(each.text for each in gathered.attachments)


def test_what_was_indexed_before_it_became_a_link_is_forgotten(linked, cache):
    def known(index):
        index.refresh(workers=0)
        return index.connection.execute("select path from files where path = ?", (b"lib/deep/keys.py",)).fetchall()

    link = (linked / "lib").readlink()
    (linked / "lib").unlink()
    shutil.copytree(link, linked / "lib")
    with Index.open(linked, cache) as index:
        assert known(index)
        shutil.rmtree(linked / "lib")
        (linked / "lib").symlink_to(link)
        assert not known(index)
