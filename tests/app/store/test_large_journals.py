"""A session of 10,000 turns and 100 MB opens at once, and its size is not that of the memory it takes."""

import json
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest

from laguna_tui.base.events import TextDelta
from laguna_tui.store.events import ConversationChanged, Event
from laguna_tui.store.journal_lines import JOURNAL, encoded_group, read_journal
from laguna_tui.store.session_journal import SessionJournal
from laguna_tui.store.session_store import SessionStore
from tests.app.store.kept_sessions import kept, shown, turn

TOP = Path(__file__).parents[3]
MB = 1_000_000
_CHILD = """
import json, sys, time
from pathlib import Path
from laguna_tui.store.events import TurnBegun
from laguna_tui.store.session_journal import SessionJournal

def peak():
    # That of getrusage is inherited from the parent.
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

before = peak()
began = time.perf_counter()
journal = SessionJournal.open(Path(sys.argv[1]))
opened = time.perf_counter() - began
began = time.perf_counter()
turns = sum(1 for line in journal.read() if isinstance(line.event, TurnBegun))
read = time.perf_counter() - began
journal.release()
grown = peak() - before
print(json.dumps({"opened_s": opened, "read_s": read, "turns": turns, "grown_kb": grown, "before_kb": before}))
"""


def large_session(parent: Path, turns: int, size: int) -> str:
    """Save a session of this many turns and bytes; returns its ID."""
    session = kept(parent, ("message", "answer"))
    path = parent / session / JOURNAL
    with path.open("ab") as file:
        each = size // turns
        for number in range(2, turns + 1):
            began = line(turn(number, f"message {number}"))
            file.write(began)
            left = each - len(began)
            # Half of it is told to the screen, and the rest is what else is kept of a turn.
            text = f"answer {number} is long " * (left // 60)
            answer = line(shown(TextDelta(text)))
            file.write(answer)
            file.write(line(ConversationChanged(opening="QUFB" * ((left - len(answer)) // 4))))
    return session


def line(event: Event) -> bytes:
    return encoded_group([event], 1.6e9)


def measured(folder: Path) -> dict[str, float]:
    """Time and memory of a process that opens a session and reads all of it."""
    done = subprocess.run([sys.executable, "-c", _CHILD, str(folder)], cwd=TOP, capture_output=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def test_opening_takes_no_more_memory_for_a_larger_session(tmp_path):
    peaks = []
    for size in (4 * MB, 16 * MB):
        session = large_session(tmp_path, 300, size)
        tracemalloc.start()
        journal = SessionJournal.open(tmp_path / session)
        for _ in journal.read():
            pass
        journal.release()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert max(peaks) < 8 * MB
    assert peaks[1] < peaks[0] * 1.5


def test_a_large_session_is_indexed_in_pieces_and_read_on_from_there(tmp_path):
    store = SessionStore(tmp_path, tmp_path / "cache")
    session = large_session(store.folder, 1000, 12 * MB)
    (found,) = store.newest()
    assert found.turns == 1000
    assert [each.id for each in store.search("message 777")] == [session]
    before = len(list(read_journal(store.folder / session / JOURNAL)))
    store.rename(session, "New")
    assert store.newest()[0].title == "New"
    assert len(list(read_journal(store.folder / session / JOURNAL))) == before + 1


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.timeout(3600)
def test_10000_turns_and_100_mb(tmp_path):
    small = measured(tmp_path / large_session(tmp_path, 1_000, 10 * MB))
    store = SessionStore(tmp_path, tmp_path / "cache")
    session = large_session(store.folder, 10_000, 100 * MB)
    path = store.folder / session / JOURNAL
    large = measured(store.folder / session)
    times = {"size_mb": path.stat().st_size / MB, "small": small, "large": large}
    for name, action in {
        "first list": store.newest,
        "list": store.newest,
        "search a rare word": lambda: store.search("message 7777"),
        "search a frequent word": lambda: store.search("answer"),
        "copy": lambda: store.fork(session),
        "list with the copy": store.newest,
    }.items():
        began = time.perf_counter()
        action()
        times[name] = time.perf_counter() - began
    times["index_mb"] = sum(file.stat().st_size for file in store.folder.glob("index.db*")) / MB
    print(json.dumps(times, indent=1))
    assert large["turns"] == 10_000
    assert path.stat().st_size > 99 * MB
    assert large["opened_s"] < 2.0
    assert large["grown_kb"] < small["grown_kb"] + 3_000
