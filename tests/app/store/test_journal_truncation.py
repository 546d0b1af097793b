"""A journal that was cut at any byte loads with every group of events before the cut, and continues from there."""

from pathlib import Path

import pytest

from laguna_tui.store.events import Began, ConversationChanged, HistoryMoved, TodoWritten, TurnBegun
from laguna_tui.store.journal_lines import JOURNAL, JournalError, read_journal
from laguna_tui.store.session_journal import SessionJournal
from tests.app.store.kept_sessions import turn
from tests.app.store.recorded import recorded

BYTES = 1_000_000
"""How many places journals are cut at, in the long run."""


def check_cuts(folder: Path, cuts: range) -> int:
    """Cut a journal at each of these bytes, load it and go on with it; returns how many cuts there were.

    Raises:
        AssertionError: An event before the cut is lost, or one of a group that was not whole is loaded.
    """
    path = folder / JOURNAL
    data = path.read_bytes()
    ends = [line.end for line in read_journal(path) if not line.event.more]
    assert ends[-1] == len(data)
    for cut in cuts:
        path.write_bytes(data[:cut])
        whole = max((end for end in ends if end <= cut), default=0)
        if not whole:
            with pytest.raises(JournalError, match="beginning is missing or damaged"):
                SessionJournal.open(folder)
            assert path.read_bytes() == data[:cut]
            continue
        journal = SessionJournal.open(folder)
        assert (journal.end, journal.notice, journal.failing) == (whole, "", "")
        journal.append(turn(cut))
        journal.release()
        after = path.read_bytes()
        # All bytes of all whole groups of events, then the new one.
        assert after[:whole] == data[:whole]
        assert [line.event.number for line in read_journal(path, whole)] == [cut]
    path.write_bytes(data)
    return len(cuts)


def test_a_real_journal_loads_when_cut_at_any_byte(tmp_path):
    folder = recorded(tmp_path / "state", tmp_path / "project", seed=1, turns=2)
    size = (folder / JOURNAL).stat().st_size
    header = next(iter(read_journal(folder / JOURNAL))).end
    # Every byte of the beginning and of some events, and a sample of all the others.
    assert check_cuts(folder, range(header + 400)) == header + 400
    assert check_cuts(folder, range(header, size + 1, 37)) > 100
    assert not list(folder.glob("cut-*"))


def test_events_that_belong_together_are_read_together_or_not_at_all(tmp_path):
    journal = SessionJournal.create(tmp_path, "/shop")
    start = journal.end
    journal.append(HistoryMoved(position=0), ConversationChanged(opening="x" * 100), TodoWritten(items=()))
    journal.release()
    path = journal.folder / JOURNAL
    data = path.read_bytes()
    for cut in range(start, len(data)):
        path.write_bytes(data[:cut])
        assert [type(line.event) for line in read_journal(path)] == [Began]
        reopened = SessionJournal.open(journal.folder)
        assert (reopened.end, reopened.notice) == (start, "")
        reopened.append(turn(1))
        assert [type(line.event) for line in reopened.read()] == [Began, TurnBegun]
        reopened.release()
    path.write_bytes(data)
    kinds = [Began, HistoryMoved, ConversationChanged, TodoWritten]
    assert [type(line.event) for line in read_journal(path)] == kinds
    assert not list(journal.folder.glob("cut-*"))


def test_damage_after_a_torn_group_is_saved_beside_the_journal(tmp_path):
    journal = SessionJournal.create(tmp_path, "/shop")
    start = journal.end
    journal.append(HistoryMoved(position=0), ConversationChanged(calls=1))
    journal.release()
    path = journal.folder / JOURNAL
    first, second = path.read_bytes()[start:].splitlines(keepends=True)
    path.write_bytes(path.read_bytes()[:start] + first + b"damaged\n" + second)
    reopened = SessionJournal.open(journal.folder)
    assert reopened.end == start
    (kept,) = journal.folder.glob("cut-*")
    assert kept.read_bytes() == first + b"damaged\n" + second
    reopened.release()


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_real_journals_load_when_cut_at_every_byte(tmp_path):
    done = seed = 0
    while done < BYTES:
        seed += 1
        folder = recorded(tmp_path / "state", tmp_path / f"project {seed}", seed, turns=1 if seed % 5 else 2)
        done += check_cuts(folder, range((folder / JOURNAL).stat().st_size + 1))
        assert not list(folder.glob("cut-*"))
        print(f"{seed} journals, {done:,} cuts", flush=True)
