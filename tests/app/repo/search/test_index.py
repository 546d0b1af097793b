"""The index says what the folder says: after every change, after damage, and with others at work on it."""

import os
import sqlite3
import stat
import subprocess
import sys

import pytest
from filelock import FileLock

from laguna_tui.base.errors import UserError
from laguna_tui.repo.files.text_files import INDEXED_BYTES
from laguna_tui.repo.search import index as index_module
from laguna_tui.repo.search import index_database
from laguna_tui.repo.search.best_units import best_units
from laguna_tui.repo.search.identifiers import stem
from laguna_tui.repo.search.index import Index
from laguna_tui.repo.search.index_writer import pack_spans, unpack_spans
from laguna_tui.repo.search.reference_graph import load_graph
from laguna_tui.repo.syntax import tag_queries
from tests.app.odd_files import odd
from tests.app.repo.conftest import FILES, write
from tests.app.repo.search.index_checks import faults

OLD_NS = 1_600_000_000_000_000_000


def symbols(index):
    return {name for (name,) in index.connection.execute("select qualified from symbols")}


def hits(index, word):
    return len(best_units(index.connection, [stem(word)], 100))


def age(root):
    """Make every file old enough to be trusted by its time of change."""
    for path in root.rglob("*.*"):
        if path.is_file() and ".git" not in path.parts:
            os.utime(path, ns=(OLD_NS, OLD_NS))


def test_everything_is_read_once(shop, cache):
    age(shop)
    with Index.open(shop, cache) as index:
        seen = []
        first = index.refresh(lambda done, total: seen.append((done, total)), workers=0)
        assert (first.files, first.read) == (6, 6)
        assert seen[-1] == (6, 6)
        assert "ShoppingCart.total_price" in symbols(index)
        assert index.refresh(workers=0).read == 0


def test_worker_processes_find_the_same(shop, cache, index):
    with Index.open(shop, cache.parent / "other") as other:
        assert other.refresh(workers=2).read == 6
        assert symbols(other) == symbols(index)


def test_a_changed_file_is_read_again_and_a_deleted_one_forgotten(shop, index):
    write(shop, {"shop/report.py": "def yearly_report(): pass\n"})
    (shop / "shop/prices.py").unlink()
    done = index.refresh(workers=0)
    assert (done.read, done.dropped) == (1, 1)
    assert "yearly_report" in symbols(index)
    assert not {"monthly_report", "PriceList"} & symbols(index)
    assert hits(index, "monthly") == 0
    assert faults(index.connection) == []


def test_a_change_within_the_same_tick_of_the_clock_is_seen(shop, index):
    path = shop / "shop/report.py"
    status = path.stat()
    path.write_text(path.read_text().replace("monthly", "longest"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    index.refresh(workers=0)
    assert "longest_report" in symbols(index)


def test_a_file_that_only_looks_changed_is_not_parsed_again(shop, index):
    age(shop)
    assert index.refresh(workers=0).read == 0
    assert index.connection.execute("select min(mtime_ns) from files").fetchone()[0] == OLD_NS


def test_a_stop_keeps_what_was_read_and_the_next_refresh_goes_on(shop, cache, monkeypatch):
    monkeypatch.setattr("laguna_tui.repo.search.index_update._COMMIT_S", 0.0)
    with Index.open(shop, cache) as index:
        seen = []
        done = index.refresh(lambda *_: seen.append(_), should_stop=lambda: len(seen) > 1, workers=0)
        assert not done.complete
        assert 0 < done.read < 6
        assert index.refresh(workers=0).files == 6
        assert {"monthly_report", "CartView", "PriceList"} <= symbols(index)


@pytest.mark.parametrize("damage", [b"", b"not a database" * 1000], ids=["empty", "overwritten"])
def test_a_damaged_index_is_begun_again(shop, cache, damage):
    with Index.open(shop, cache) as index:
        index.refresh(workers=0)
    index.path.write_bytes(damage)
    with Index.open(shop, cache) as again:
        assert again.refresh(workers=0).read == 6
        assert "PriceList" in symbols(again)


def test_damage_inside_is_found_while_refreshing(shop, cache):
    with Index.open(shop, cache) as index:
        index.refresh(workers=0)
    data = bytearray(index.path.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    index.path.write_bytes(data)
    with Index.open(shop, cache) as again:
        assert again.refresh(workers=0).read == 6
        assert "was rebuilt" in again.notes[0]


def test_an_index_of_another_version_is_begun_again(shop, cache):
    with Index.open(shop, cache) as index:
        index.refresh(workers=0)
        index.connection.execute("pragma user_version = 999")
    with Index.open(shop, cache) as again:
        assert again.notes == [f"the index was rebuilt: it has version 999, not {index_database.VERSION}"]
        assert again.refresh(workers=0).read == 6


def test_a_cache_folder_that_cannot_be_written_is_a_sentence_and_the_index_lives_in_memory(shop, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with Index.open(shop, tmp_path / "file/cache") as index:
        assert "in memory only" in index.notes[0]
        index.refresh(workers=0)
        assert "PriceList" in symbols(index)


def test_nobody_else_can_read_the_index(index):
    assert stat.S_IMODE(index.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(index.path.parent.stat().st_mode) == 0o700


def test_while_another_process_writes_the_last_state_is_used(shop, cache, index):
    with FileLock(f"{index.path}.lock"), Index.open(shop, cache) as other:
        assert other.refresh(wait=False) is None
        assert other.notes == [index_module.BUSY]
        assert "PriceList" in symbols(other)


@pytest.mark.parametrize("locks", ["", "import fcntl\nfcntl.flock = lambda *_: None\n"], ids=["", "no locks"])
def test_two_processes_at_once_leave_one_whole_index(shop, cache, locks):
    write(shop, {f"many/m{number}.py": f"def many_{number}(): pass\n" for number in range(40)})
    program = (
        f"{locks}import sys\nfrom pathlib import Path\nfrom laguna_tui.repo.search.index import Index\n"
        "with Index.open(Path(sys.argv[1]), Path(sys.argv[2])) as index: index.refresh(workers=0)"
    )
    command = [sys.executable, "-c", program, str(shop), str(cache)]
    runs = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]
    assert [run.communicate(timeout=60)[1] for run in runs] == [b"", b""]
    with Index.open(shop, cache) as index:
        assert {f"many_{number}" for number in range(40)} <= symbols(index)
        assert index.connection.execute("pragma integrity_check").fetchone()[0] == "ok"


def test_links_pipes_binaries_and_hostile_names_are_survived(shop, index):
    (shop / "link.py").symlink_to("/etc/passwd")
    os.mkfifo(shop / "pipe.py")
    (shop / "binary.py").write_bytes(b"\0\1\2def hidden(): pass")
    hostile = os.fsdecode(b"bad\xff\x1b[31m\n.py")
    (shop / hostile).write_text("def from_hostile(): pass\n")
    index.refresh(workers=0)
    assert "from_hostile" in symbols(index)
    assert "hidden" not in symbols(index)
    paths = {os.fsdecode(path) for (path,) in index.connection.execute("select path from files")}
    assert hostile in paths
    assert not {"link.py", "pipe.py"} & paths


def test_a_file_that_is_too_large_is_known_by_name_only(shop, index):
    (shop / "huge.py").write_text("def enormous(): pass\n" + "#" * INDEXED_BYTES)
    index.refresh(workers=0)
    assert "enormous" not in symbols(index)
    assert index.refresh(workers=0).read <= 1


@pytest.fixture
def full(shop, cache, monkeypatch):
    """An index with room for some of twenty files."""
    monkeypatch.setattr(index_database, "MAX_BYTES", 60 * 8192)
    monkeypatch.setattr("laguna_tui.repo.search.index_update._COMMIT_S", 0.0)
    monkeypatch.setattr("laguna_tui.repo.search.index_update._FULL_SHARE", 0.5)
    write(shop, {f"many/m{number}.py": "".join(f"w{number}x{i} = {i}\n" for i in range(300)) for number in range(20)})
    write(shop, {"aaa.md": "# Prose\n"})
    with Index.open(shop, cache) as index:
        yield index


def known(index):
    return {os.fsdecode(path) for (path,) in index.connection.execute("select path from files")}


def test_an_index_that_is_full_says_what_is_missing_and_keeps_code_rather_than_prose(full):
    done = full.refresh(workers=0)
    assert done.full
    assert 0 < len(known(full)) == done.files - done.left_out
    assert done.notes == (
        f"the index is full: {done.left_out} of {done.files} files are not in it; index a smaller folder",
    )
    assert not {"aaa.md", "README.md"} & known(full)


def test_a_full_index_does_not_try_again_until_something_leaves_it(full, shop):
    left_out = full.refresh(workers=0).left_out
    again = full.refresh(workers=0)
    assert (again.read, again.left_out) == (0, left_out)
    for path in known(full):
        (shop / path).unlink()
    assert full.refresh(workers=0).read > 0


@pytest.fixture
def on_a_full_disk(shop, cache, monkeypatch):
    """An index whose disk has room for some of twenty files: SQLite says the same of a limit that is set for it."""
    monkeypatch.setattr("laguna_tui.repo.search.index_update._COMMIT_S", 0.0)
    write(shop, {f"many/m{number}.py": "".join(f"w{number}x{i} = {i}\n" for i in range(300)) for number in range(20)})
    with Index.open(shop, cache) as index:
        index.connection.execute("pragma max_page_count = 40")
        yield index


def test_a_full_disk_is_said_and_not_taken_for_a_full_index(on_a_full_disk, cache):
    done = on_a_full_disk.refresh(workers=0)
    assert 0 < len(known(on_a_full_disk)) == done.files - done.left_out < done.files
    assert not done.full
    assert done.notes == (
        f"the disk is full: {done.left_out} of {done.files} files are not in the index yet;"
        f" free some space for {cache}, and the next scan of the folder completes it",
    )


def test_the_index_is_completed_when_the_disk_has_room_again(on_a_full_disk):
    on_a_full_disk.refresh(workers=0)
    before = known(on_a_full_disk)
    on_a_full_disk.connection.execute("pragma max_page_count = 100000")
    done = on_a_full_disk.refresh(workers=0)
    assert (done.left_out, done.disk_full, done.notes) == (0, "", ())
    assert len(known(on_a_full_disk)) == done.files > len(before)
    assert on_a_full_disk.connection.execute("pragma integrity_check").fetchone()[0] == "ok"
    assert rank_of(on_a_full_disk, "shop/cart.py") > 0


def test_a_disk_that_is_full_before_the_graph_is_made_is_said_too(shop, index, monkeypatch):
    def full(connection):
        connection.execute("pragma max_page_count = 1")  # as many as there are
        connection.execute("create table filling (data)")
        connection.executemany("insert into filling values (zeroblob(8000))", [()] * 1000)

    write(shop, {"new.py": "x = 1\n"})
    monkeypatch.setattr("laguna_tui.repo.search.reference_graph.build_graph", full)
    assert "the disk is full" in index.refresh(workers=0).notes[0]


def test_a_locked_index_is_not_told_as_a_full_disk(shop, cache, index, monkeypatch):
    monkeypatch.setattr(index_database, "_BUSY_S", 0.1)
    write(shop, {"new.py": "x = 1\n"})
    with Index.open(shop, cache) as second:
        other = sqlite3.connect(index.path, isolation_level=None)
        other.execute("begin immediate")
        with pytest.raises(UserError) as caught:
            second.refresh(workers=0)
        other.close()
    assert "another program is using the index" in str(caught.value)
    assert "disk" not in str(caught.value)
    assert index.refresh(workers=0).read == 1


def test_an_index_that_may_not_be_written_is_not_told_as_a_full_disk(shop, index):
    write(shop, {"new.py": "x = 1\n"})
    index.connection.execute("pragma query_only = on")
    with pytest.raises(UserError, match=r"cannot be written .*; make its folder writable"):
        index.refresh(workers=0)


@pytest.mark.timeout(30)
@odd
def test_an_index_that_is_no_file_is_not_waited_for(shop, cache, make):
    cache.mkdir()
    make(index_database.index_path(shop, cache))
    with Index.open(shop, cache) as index:
        assert index.refresh(workers=0).read > 0
        assert index.notes


def test_with_another_grammar_only_its_files_are_parsed_again(shop, index, monkeypatch):
    age(shop)
    index.refresh(workers=0)
    upgraded = {**tag_queries.fingerprints(), "typescript": "of a later version"}
    monkeypatch.setattr("laguna_tui.repo.search.index_state.fingerprints", lambda: upgraded)
    index.connection.execute("delete from symbols where qualified = 'CartView'")
    assert index.refresh(workers=0).read == 1
    assert "CartView" in symbols(index)
    assert index.refresh(workers=0).read == 0


def test_a_grammar_is_known_by_its_package_and_its_queries(monkeypatch):
    before = tag_queries.fingerprints()
    assert before.keys() == tag_queries.TAGS.keys()
    python, suffixes = tag_queries.TAGS["python"]
    monkeypatch.setitem(tag_queries.TAGS, "python", (python._replace(references="(call) @reference"), suffixes))
    tag_queries.fingerprints.cache_clear()
    changed = {name for name, value in tag_queries.fingerprints().items() if value != before[name]}
    tag_queries.fingerprints.cache_clear()
    assert changed == {"python"}


def rank_of(index, path):
    (file,) = index.connection.execute("select id from files where path = ?", (os.fsencode(path),)).fetchone()
    graph = load_graph(index.connection)
    return graph.values(graph.rank, [file])[file]


def test_an_empty_folder_has_an_index(tmp_path):
    (tmp_path / "empty").mkdir()
    with Index.open(tmp_path / "empty", tmp_path / "cache") as opened:
        assert opened.refresh(workers=0).files == 0
        assert len(load_graph(opened.connection).files) == 0


def test_in_a_small_folder_one_changed_file_changes_the_graph(shop, index):
    before = rank_of(index, "web/cart.ts")
    write(shop, {"web/page.ts": "import { CartView } from './cart';\nexport const page = new CartView();\n"})
    index.refresh(workers=0)
    assert rank_of(index, "web/cart.ts") > before


def test_in_a_large_folder_the_graph_waits_for_a_hundredth_of_the_files(shop, index, monkeypatch):
    monkeypatch.setattr(index_module, "_GRAPH_AT_ONCE_S", -1.0)
    monkeypatch.setattr(index_module, "_GRAPH_SHARE", 0.33)
    for number, nodes in ((1, 6), (2, 6), (3, 9)):
        write(shop, {f"web/page{number}.ts": f"export const page{number} = {number};\n"})
        index.refresh(workers=0)
        assert len(load_graph(index.connection).files) == nodes


def test_names_that_are_no_text_are_compared_like_all_others(shop, index):
    age(shop)
    odd = [os.fsdecode(name) for name in (b"\xff.py", b"\xee\x80\x80.py", b"\xf0\x9f\x98\x80.py", b"z\x80a.py")]
    write(shop, dict.fromkeys(odd, "x = 1\n"))
    age(shop)
    assert index.refresh(workers=0).read == 4
    (shop / odd[1]).unlink()
    done = index.refresh(workers=0)
    assert (done.read, done.dropped) == (0, 1)
    assert known(index) == {*(name for name in odd if name != odd[1]), *FILES}


def test_old_indexes_make_room(tmp_path, monkeypatch):
    for number in range(4):
        path = tmp_path / f"{number}.sqlite"
        path.write_bytes(b"x" * 100)
        os.utime(path, (number, number))
    monkeypatch.setattr(index_database, "KEPT_BYTES", 250)
    index_database.prune(tmp_path / "0.sqlite")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.sqlite", "2.sqlite", "3.sqlite"]


def test_spans_travel_as_text():
    assert unpack_spans(pack_spans(((3, 7), (12, 40)))) == ((3, 7), (12, 40))


def test_a_connection_in_memory_has_every_table():
    tables = index_database.connect(None).execute("select name from sqlite_master where type = 'table'").fetchall()
    assert {("files",), ("symbols",), ("units",), ("refs",), ("blocks",), ("postings",)} <= set(tables)
    assert sqlite3.sqlite_version_info >= (3, 35)


def test_what_is_in_a_file_with_secrets_is_not_indexed(shop, index):
    write(shop, {".env": "API_TOKEN = hunter2\n", "plain.py": "hunter2 = 1\n"})
    index.refresh(workers=0)
    assert {os.fsdecode(path) for (path,) in index.connection.execute("select path from files")} == {
        *FILES,
        "plain.py",
    }
