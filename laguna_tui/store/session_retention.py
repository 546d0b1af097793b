"""Deletes old sessions as the user's settings say, and reports which."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from laguna_tui.base.settings import Settings
from laguna_tui.base.units import plural, size, some_of
from laguna_tui.store.journal_lines import JournalError
from laguna_tui.store.session_store import SessionStore
from laguna_tui.store.session_summary import SessionSummary

_SECONDS_A_DAY = 24 * 60 * 60
_NAMED = 5
_BYTES_A_GB = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Retention:
    """How long sessions are kept, and how much room they may take.

    Attributes:
        days: For how long after the last message; 0 for ever.
        limit: Bytes of all of them; 0 for any number.
        is_own_limit: Whether the user chose the limit, so that sessions beyond it may be deleted without asking.
    """

    days: int
    limit: int
    is_own_limit: bool

    @classmethod
    def of(cls, settings: Settings) -> "Retention":
        """Return what the user's settings say."""
        chosen = "sessions_limit" in settings.origin or settings.sessions_limit != Settings().sessions_limit
        return cls(settings.keep_sessions, round(settings.sessions_limit * _BYTES_A_GB), chosen)

    def chosen(
        self, sessions: Sequence[SessionSummary], now: float | None = None
    ) -> tuple[list[SessionSummary], list[SessionSummary]]:
        """Return the sessions that are too old, and of the others the oldest that must go for the rest to fit.

        Open sessions are never among them.

        Args:
            sessions: Newest first.
            now: The time in seconds since the epoch; None asks the clock.
        """
        before = (time.time() if now is None else now) - self.days * _SECONDS_A_DAY
        old = [each for each in sessions if self.days and each.updated < before and not each.locked]
        left = [each for each in sessions if each not in old]
        over = sum(each.size for each in left) - self.limit if self.limit else 0
        beyond: list[SessionSummary] = []
        for each in reversed(left):
            if over > 0 and not each.locked:
                beyond.append(each)
                over -= each.size
        return old, beyond


def prune(
    store: SessionStore, retention: Retention, *, is_requested: bool = False, now: float | None = None
) -> list[str]:
    """Delete the sessions that are too old or take too much room; returns sentences for the user about it.

    Sessions beyond a limit that the user did not choose are deleted only on request.

    Args:
        store: All sessions.
        retention: How long they are kept.
        is_requested: The user requested it.
        now: The time in seconds since the epoch; None asks the clock.
    """
    store.remove_leftovers(now=now)
    sessions = store.newest()
    old, beyond = retention.chosen(sessions, now)
    limit = f"sessions_limit = {size(retention.limit)}"
    sentences = [*_deleted(store, old, f"older than keep_sessions = {retention.days} days")]
    if beyond and (retention.is_own_limit or is_requested):
        sentences += _deleted(store, beyond, f"beyond {limit}")
    elif beyond:
        total = size(sum(each.size for each in sessions if each not in old))
        sentences.append(
            f"The sessions take {total}, more than {limit}; to delete the {len(beyond)} oldest: "
            "laguna-tui sessions prune"
        )
    return sentences


def _deleted(store: SessionStore, sessions: Sequence[SessionSummary], why: str) -> Iterator[str]:
    gone, freed, failed = list[SessionSummary](), 0, list[str]()
    for each in sessions:
        try:
            freed += store.delete([each.id])
            gone.append(each)
        except JournalError as error:
            failed.append(f"'{each.title}' was not deleted: {error}")
    if gone:
        named = some_of([f"'{each.title}'" for each in gone], _NAMED)
        what = plural(len(gone), "session")
        yield f"{len(gone)} {what} {why} deleted, {size(freed)} freed: {named}"
    yield from failed
