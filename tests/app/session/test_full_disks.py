"""With a disk quota that ends at any byte a chat continues, says what is not kept, and keeps it once there is room.

The limit is the kernel's, on the size of every file of this process: the journal, undo, the index, the user's own files
and what a command writes.
"""

import pytest

from laguna_tui.base.events import TextDelta, TurnEnd, TurnFinished
from tests.app.session.place import Place, ask, tokens
from tests.app.store.test_full_disks import largest_file
from tests.scripted_model import call, say

LINES = "".join(f"line {number}\n" for number in range(300))
SCRIPT = [
    "Hello.",
    say(call("write", path="b.txt", content="b\n"), call("write", path="long.txt", content=LINES)),
    "Done.",
    say(call("shell", cmd="echo c > c.txt")),
    "Done.",
    "Yes.",
]
LEAST = 2_000
"""Smaller ones would end the sandbox's filter of system calls too, which is a file in memory."""
MESSAGES = ("hello", "write b and the long one", "run it")


def check_quota(place: Place, size: int) -> bool:
    """Chat while no file may grow beyond a size; whether it was said that something is not kept."""
    place.reset()
    model = place.model(SCRIPT)
    with place.session(model, cache=place.home / f"cache {size}") as session:
        with largest_file(size):
            for message in MESSAGES:
                events = ask(session, message)
                assert any(isinstance(event, TextDelta) for event in events)
                assert events[-1] == TurnFinished(TurnEnd.ANSWERED)
        said = session.sessions.failing
        assert not said.session or "file too large" in said.session.lower()
        ask(session, "really?")
        assert session.sessions.failing.session == ""
        whole = tokens(session)
    (kept,) = place.saved
    with place.session(model, kept) as session:
        assert tokens(session) == whole
    return bool(said.session)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Place(tmp_path)


@pytest.mark.parametrize(("size", "fails"), [(LEAST, True), (4_000, True), (9_000, True), (1 << 30, False)])
def test_a_chat_continues_when_a_quota_is_reached_and_is_saved_later(place, size, fails):
    assert check_quota(place, size) is fails


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_chat_continues_wherever_a_quota_ends(place):
    sizes = [*range(LEAST, 14_000, 97), *range(14_000, 300_000, 4_001)]
    said = [check_quota(place, size) for size in sizes]
    print(f"{len(sizes)} quotas, {sum(said)} of them too small for the journal")
    assert 20 < sum(said) < len(sizes)
