"""Writes journals of sessions until it is killed: `python -m tests.kills journal`."""

import random
from collections.abc import Sequence

from laguna_tui.store.events import ConversationChanged
from laguna_tui.store.session_journal import SessionJournal
from laguna_tui.store.session_store import SessionStore
from tests.kills import Report, Victim


class JournalWriter(Victim):
    """Continues the newest session, or begins one, and copies, renames, lists and deletes others in between."""

    longest_s = 0.06

    def work(self, chance: random.Random, report: Report) -> None:
        store = SessionStore(self.folder, self.folder / "cache")
        own = [each for each in store.newest() if not each.title.startswith("copy")]
        if own and chance.random() < 0.8:
            journal = SessionJournal.open(store.folder / own[0].id)
        else:
            journal = SessionJournal.create(store.folder, "/shop")
        number = len(_numbered(journal))
        report(f"{journal.id} {number}")
        while True:
            number += 1
            blob = (journal.put_blob(_text(number).encode()),) if number % 3 == 0 else ()
            event = ConversationChanged(calls=number, opening=_text(number), notes=blob)
            journal.append(event, durable=number % 9 == 0)
            report(f"{journal.id} {number}")
            if chance.random() < 0.02:
                _change_others(store, journal, chance)
            if chance.random() < 0.02:
                journal.close("SIGTERM")
                journal = SessionJournal.open(journal.folder)

    def check(self, reports: Sequence[str], report: Report) -> None:
        store = SessionStore(self.folder, self.folder / "cache")
        done = {each.split()[0]: int(each.split()[1]) for each in reports}
        found = {each.id: each for each in store.newest()}
        assert done.keys() <= found.keys()
        for session, stored in found.items():
            assert stored.ended in ("killed", "SIGTERM", ""), stored
            journal = SessionJournal.open(store.folder / session)
            written = _numbered(journal)
            assert [event.calls for event in written] == list(range(1, len(written) + 1))
            assert len(written) >= done.get(session, 0)
            for number, event in enumerate(written, 1):
                assert event.opening == _text(number)
                assert [journal.blob(name).decode() for name in event.notes] == [event.opening] * (number % 3 == 0)
            assert (journal.notice, journal.failing) == ("", "")
            journal.release()
            assert not list((store.folder / session).glob("cut-*"))


def _text(number: int) -> str:
    """The text of the event with this number; some are longer than a page of the disk."""
    return f"{number} " * (number * 7919 % 2_500)


def _numbered(journal: SessionJournal) -> list[ConversationChanged]:
    return [line.event for line in journal.read() if isinstance(line.event, ConversationChanged)]


def _change_others(store: SessionStore, journal: SessionJournal, chance: random.Random) -> None:
    others = [each.id for each in store.newest() if each.title.startswith("copy")]
    match chance.randrange(4):
        case 0:
            store.fork(journal.id, f"copy {len(others)}")
        case 1 if others:
            store.rename(others[0], "copy with another title")
        case 2 if others:
            store.delete(others[:1])
        case _:
            store.search("123")
