"""A codebase answers from any thread, at any time, in any state of its index, and stops when it is told to."""

import os
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from filelock import FileLock

from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.unsearched import BARE
from laguna_tui.repo.search import index as index_module
from laguna_tui.repo.search import index_database
from laguna_tui.repo.search.index_database import index_path
from tests.app.repo.conftest import FILES, git, write

LONG_S = 60.0


def names(found):
    return [definition.qualified for definition in found]


def test_it_answers_by_name_by_words_and_with_a_map(codebase):
    assert names(codebase.symbols("PriceList"))[0] == "PriceList"
    assert codebase.search("total price of the cart")[0].unit.title == "ShoppingCart.total_price"
    assert "class ShoppingCart" in codebase.map(200).text
    assert "class ShoppingCart" not in codebase.map(200, focus=["shop/cart.py"]).text
    assert codebase.notes == ()


def test_before_it_is_started_it_answers_nothing(shop, cache):
    idle = Codebase(shop, cache)
    assert (idle.paths(), idle.symbols("PriceList"), idle.search("cart"), idle.map(100).text) == ((), [], [], "")
    assert not idle.ready
    assert not idle.wait(0.01)
    idle.close()


def test_the_paths_are_known_while_the_index_is_being_made(shop, cache):
    cache.mkdir()
    with FileLock(f"{index_path(shop, cache)}.lock"):
        waiting = Codebase(shop, cache)
        waiting.start()
        assert list(waiting.paths(LONG_S)) == sorted(FILES)
        assert not waiting.ready
        waiting.close()


def test_a_bare_repository_is_named(shop, cache, tmp_path):
    git(tmp_path, "clone", "--bare", str(shop), "shop.git")
    codebase = Codebase(tmp_path / "shop.git", cache)
    codebase.start()
    assert codebase.wait(LONG_S)
    assert (list(codebase.paths()), codebase.notes) == ([], (BARE,))
    codebase.close()


def test_a_full_disk_is_said_and_the_next_look_with_room_completes_the_index(shop, cache, monkeypatch):
    monkeypatch.setattr("laguna_tui.repo.search.index_update._COMMIT_S", 0.0)
    pages, connect = [40], index_database.connect

    def limited(path):
        connection = connect(path)
        connection.execute(f"pragma max_page_count = {pages[0]}")
        return connection

    monkeypatch.setattr(index_database, "connect", limited)
    write(shop, {f"many/m{number}.py": "".join(f"w{number}x{i} = {i}\n" for i in range(300)) for number in range(20)})
    codebase = Codebase(shop, cache)
    codebase.start()
    assert codebase.wait(LONG_S)
    (note,) = codebase.notes
    assert note.startswith("the disk is full: ")
    assert "rebuild" not in note
    pages[0] = 100_000
    codebase.refresh()
    assert codebase.wait(LONG_S)
    assert codebase.notes == ()
    assert all(codebase.definitions(f"w{number}x299") for number in range(20))
    codebase.close()


def test_an_index_that_another_program_locks_is_not_told_as_damage_or_a_full_disk(shop, cache, codebase, monkeypatch):
    monkeypatch.setattr(index_database, "_BUSY_S", 0.1)
    write(shop, {"new.py": "def brand_new(): pass\n"})
    other = sqlite3.connect(index_path(shop, cache), isolation_level=None)
    other.execute("begin immediate")
    codebase.refresh()
    assert codebase.wait(LONG_S)
    (note,) = codebase.notes
    assert "another program is using the index" in note
    assert "rebuild" not in note
    assert "disk" not in note
    other.close()
    codebase.refresh()
    assert codebase.wait(LONG_S)
    assert names(codebase.symbols("brand_new")) == ["brand_new"]


def test_files_without_text_are_no_paths(shop, codebase):
    (shop / "photo.png").write_bytes(b"no picture at all")
    (shop / "named_like_code.py").write_bytes(b"\0\1\2")
    codebase.refresh()
    assert codebase.wait(LONG_S)
    assert list(codebase.paths()) == sorted(FILES)


def test_while_another_process_indexes_it_answers_from_what_is_there_and_says_so(shop, cache, codebase):
    with FileLock(f"{index_path(shop, cache)}.lock"):
        other = Codebase(shop, cache)
        other.start()
        assert other.paths(LONG_S)
        deadline = time.monotonic() + LONG_S
        while not other.notes and time.monotonic() < deadline:
            time.sleep(0.01)
        assert other.notes == (index_module.BUSY,)
        assert names(other.symbols("PriceList")) == ["PriceList"]
    assert other.wait(LONG_S)
    assert other.notes == ()
    other.close()


def test_a_change_is_known_after_the_next_look(shop, codebase):
    write(shop, {"shop/new.py": "class Voucher: pass\n"})
    codebase.refresh()
    assert codebase.wait(LONG_S)
    assert names(codebase.symbols("Voucher")) == ["Voucher"]
    assert "shop/new.py" in codebase.paths()


def test_asking_has_the_folder_looked_at_again_when_that_is_due(shop, codebase, monkeypatch):
    write(shop, {"shop/new.py": "class Voucher: pass\n"})
    assert codebase.symbols("Voucher") == []
    monkeypatch.setattr(codebase, "_due", 0.0)
    codebase.symbols("Voucher")
    assert codebase.wait(LONG_S)
    assert names(codebase.symbols("Voucher")) == ["Voucher"]


def test_an_index_that_was_deleted_by_another_process_is_made_again(shop, cache, codebase):
    for path in cache.iterdir():
        path.unlink()
    assert codebase.symbols("PriceList") == []
    codebase.refresh()
    assert codebase.wait(LONG_S)
    assert names(codebase.symbols("PriceList")) == ["PriceList"]


def test_damage_that_only_a_question_meets_is_mended_by_the_next_look(shop, cache, codebase):
    path = index_path(shop, cache)
    # The words of the search are damaged; nothing that a look at an unchanged folder reads is.
    with sqlite3.connect(path) as connection:
        connection.execute("update postings set places = x'ff'")
    assert codebase.search("total price") == []
    assert codebase.wait(LONG_S)
    assert codebase.search("total price")[0].unit.title == "ShoppingCart.total_price"


@pytest.mark.parametrize("damage", [b"", b"no database" * 4096, os.urandom(65536)], ids=["empty", "text", "noise"])
def test_a_damaged_file_is_begun_again(shop, cache, damage):
    cache.mkdir()
    index_path(shop, cache).write_bytes(damage)
    opened = Codebase(shop, cache)
    opened.start()
    assert opened.wait(LONG_S)
    assert names(opened.symbols("PriceList")) == ["PriceList"]
    opened.close()


def test_where_nothing_can_be_written_it_works_in_memory_and_says_so(shop, tmp_path):
    (tmp_path / "file").write_text("no folder")
    opened = Codebase(shop, tmp_path / "file/cache")
    opened.start()
    assert opened.wait(LONG_S)
    assert "in memory only" in opened.notes[0]
    write(shop, {"shop/new.py": "class Voucher: pass\n"})
    opened.refresh()
    assert opened.wait(LONG_S)
    with ThreadPoolExecutor(4) as pool:
        assert all(names(found) == ["Voucher"] for found in pool.map(opened.symbols, ["Voucher"] * 40))
    opened.close()
    assert opened.symbols("Voucher") == []


def test_threads_ask_while_the_folder_changes_and_is_looked_at(shop, codebase):
    stop = threading.Event()

    def change():
        for number in range(30):
            write(shop, {f"many/m{number}.py": f"def many_{number}(): return PriceList()\n"})
            codebase.refresh()
            codebase.wait(LONG_S)
        stop.set()

    def ask(question):
        while not stop.is_set():
            assert names(codebase.symbols("PriceList"))[0] == "PriceList"
            assert codebase.search(question)
            assert codebase.map(300).text
        return True

    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(change), *(pool.submit(ask, text) for text in ("total price", "refund", "cart"))]
        assert [task.result(LONG_S) for task in done] == [None, True, True, True]
    assert names(codebase.symbols("many_29")) == ["many_29"]


@pytest.mark.parametrize("question", ["\udcff\0\x1b[2J", "", "'\" OR 1=1 --", "?" * 100_000, "NEAR(a b)", "名前 ñ"])
def test_no_question_is_too_odd(codebase, question):
    assert codebase.search(question) == []
    assert codebase.symbols(question) == []
    assert not codebase.map(100, focus=[question]).text.startswith("error")
    assert codebase.notes == ()


def test_closing_in_the_middle_of_indexing_ends_the_thread_and_keeps_what_was_read(shop, cache, monkeypatch):
    write(shop, {f"many/m{number}.py": f"def many_{number}(): pass\n" for number in range(60)})
    begun = threading.Event()

    def held(opened, done, total, _count=Codebase._report_progress):
        """After the first file that was written, go on only when somebody closes it."""
        _count(opened, done, total)
        begun.set()
        with opened._changed:
            assert opened._changed.wait_for(lambda: opened._closed, LONG_S)

    monkeypatch.setattr("laguna_tui.repo.search.index_update._COMMIT_S", 0.0)
    monkeypatch.setattr("laguna_tui.context.codebase._CLOSE_S", LONG_S)
    monkeypatch.setattr(Codebase, "_report_progress", held)
    opened = Codebase(shop, cache)
    opened.start()
    assert begun.wait(LONG_S)
    opened.close()
    assert not any(thread.name == "codebase" for thread in threading.enumerate())
    assert not opened.ready
    assert opened.symbols("PriceList") == []
    with sqlite3.connect(index_path(shop, cache)) as connection:
        assert 0 < connection.execute("select count(*) from files").fetchone()[0] < len(FILES) + 60


def test_a_program_that_forgets_to_close_it_still_ends(shop, cache):
    write(shop, {f"many/m{number}.py": f"def many_{number}(): pass\n" for number in range(500)})
    program = (
        "import sys\nfrom pathlib import Path\nfrom laguna_tui.context.codebase import Codebase\n"
        "if __name__ == '__main__':\n"
        "    codebase = Codebase(Path(sys.argv[1]), Path(sys.argv[2]))\n    codebase.start()\n"
        "    print(len(codebase.paths(60)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(shop), str(cache)],
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("506\n", "", 0)


def test_a_folder_that_is_gone_has_no_files(shop, cache, tmp_path):
    gone = Codebase(tmp_path / "gone", cache)
    gone.start()
    assert gone.wait(LONG_S)
    assert (gone.paths(), gone.search("cart")) == ((), [])
    gone.close()
