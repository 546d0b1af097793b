"""A session file with anything in it is listed, searched and exported, and resumes or is refused with a sentence."""

import json
import random
from pathlib import Path

import pytest

from laguna_tui.session.resuming import SavedSession, shown_turns
from laguna_tui.session.saved_state import content_of
from laguna_tui.store.events import UNREADABLE
from laguna_tui.store.journal_lines import JOURNAL, JournalError
from laguna_tui.store.session_export import ExportForm, exported
from laguna_tui.store.session_store import SessionStore
from laguna_tui.store.session_transcript import read_transcript

RECORDED = sorted((Path(__file__).parents[2] / "recorded").glob(f"*/state/sessions/*/{JOURNAL}"))
ODD = [None, True, 3, -1, 10**400, 1e300, float("nan"), "text", "\ud800", "x" * 9000, [], {}, [{}], [[1]]]
ODD += [{"blob": "none"}, {"blob": 3}, {"bytes": 3}, {"bytes": "!"}]


def forged(chance: random.Random, value):
    """The value with some of what is in it replaced or left out."""
    if chance.random() < 0.03:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key: forged(chance, each) for key, each in value.items() if chance.random() < 0.99}
    return [forged(chance, each) for each in value] if isinstance(value, list) else value


def resume(folder: Path) -> None:
    """Read what resuming a session reads."""
    kept = SavedSession.open(folder)
    try:
        content, items = content_of(kept.journal, lambda: None), kept.state.messages
        items.load(kept.journal, {*items.current, *items.forgotten}, content)
        shown_turns(kept, content)
    except UNREADABLE:
        # `conversation` says that it is damaged.
        pass
    finally:
        kept.journal.release()


@pytest.mark.parametrize("seed", range(30))
def test_a_forged_session_is_read_as_far_as_it_makes_sense(tmp_path, seed):
    chance = random.Random(seed)
    source = chance.choice(RECORDED)
    folder = tmp_path / "sessions" / source.parent.name
    folder.mkdir(parents=True)
    lines = [json.loads(line) for line in source.read_text().splitlines()]
    odd = [forged(chance, line) if chance.random() < 0.15 else line for line in lines]
    (folder / JOURNAL).write_text("".join(json.dumps(line) + "\n" for line in odd))
    store = SessionStore(tmp_path, tmp_path / "cache")
    assert [each.id for each in store.newest()] == [folder.name]
    store.search("price")
    for read in (lambda: [exported(read_transcript(folder), form) for form in ExportForm], lambda: resume(folder)):
        try:
            read()
        except JournalError as error:
            assert folder.name in str(error)
