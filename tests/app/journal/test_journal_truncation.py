"""A journal that was cut at any byte loads with every event before the cut, and continues from there."""

from pathlib import Path

import pytest

from laguna_tui.journal.journal_lines import JOURNAL, JournalError, read_journal
from laguna_tui.journal.session_journal import SessionJournal
from tests.app.journal.recorded import recorded

BYTES = 1_000_000
"""How many places journals are cut at, in the long run."""


def check_cuts(folder: Path, cuts: range) -> int:
    """Cut a journal at each of these bytes, load it and go on with it; returns how many cuts there were.

    Raises:
        AssertionError: An event before the cut is lost, or one that was not whole is loaded.
    """
    path = folder / JOURNAL
    data = path.read_bytes()
    ends = [line.end for line in read_journal(path)]
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
        journal.append({"event": "turn", "number": cut})
        journal.release()
        after = path.read_bytes()
        # All bytes of all whole events, then the new one.
        assert after[:whole] == data[:whole]
        assert [line.event["number"] for line in read_journal(path, whole)] == [cut]
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
