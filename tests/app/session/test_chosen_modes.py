"""A session resumes in a mode that changes things unasked only if it was chosen for this session on this machine."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from laguna_tui.base.events import ToolFinished
from laguna_tui.base.permission_request import Mode
from laguna_tui.session.chosen_modes import KEY
from tests.app.session.place import Place, ask
from tests.scripted_model import Seen, Turn, call, say

UNASKED = ["auto", "accept-edits"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Place(tmp_path)


def not_chosen(mode: str) -> str:
    return (
        f"The mode {mode} was not chosen for this session on this machine, so it asks before changes. To use the mode "
        f"here: /mode {mode}, or --mode {mode} at the start."
    )


def resumed_in(place: Place, model: Path, kept: str, mode: str = "ask", **options: object) -> tuple[Mode, list[str]]:
    with place.session(model, kept, mode=mode, **options) as session:
        return session.permissions.mode, list(session.info_at_start.resumed.notices)


@pytest.mark.parametrize("mode", UNASKED)
def test_a_mode_that_was_chosen_here_comes_back(place: Place, mode: str):
    model = place.model(["Hello."])
    with place.session(model, mode=mode) as session:
        ask(session, "hello")
    assert resumed_in(place, model, place.saved[0]) == (Mode(mode), [])
    with place.session(model, place.saved[0], mode="ask") as session:
        session.permissions.mode = Mode.ASK
        session.permissions.mode = Mode.AUTO
    assert resumed_in(place, model, place.saved[0]) == (Mode.AUTO, [])


def test_a_copy_that_was_made_here_has_the_mode_of_its_original(place: Place):
    model = place.model(["Hello."])
    with place.session(model, mode="auto") as session:
        ask(session, "hello")
        copy = session.sessions.fork()
    assert resumed_in(place, model, copy.id) == (Mode.AUTO, [])


@pytest.mark.parametrize("mode", UNASKED)
@pytest.mark.parametrize("key", ["none", "another"])
def test_a_session_of_another_machine_resumes_in_the_mode_that_asks(place: Place, mode: str, key: str):
    def answer(seen: Seen) -> Turn:
        if "change" not in seen.user:
            return "Hello."
        return "Done." if seen.result else say(call("write", path="a.txt", content="two\n"))

    model = place.model(answer)
    with place.session(model, mode=mode) as session:
        ask(session, "hello")
    (place.state / KEY).unlink()
    if key == "another":
        shutil.copytree(place.state / "sessions", place.home / "sessions")
        with place.session(model, mode=mode) as session:
            ask(session, "hello")
        shutil.rmtree(place.state / "sessions")
        shutil.copytree(place.home / "sessions", place.state / "sessions")
    with place.session(model, place.saved[0], mode="ask") as session:
        assert session.info_at_start.resumed.notices == (not_chosen(mode),)
        assert session.permissions.mode is Mode.ASK
        (finished,) = [event for event in ask(session, "change it") if isinstance(event, ToolFinished)]
        assert not finished.ok
    assert (place.project / "a.txt").read_text() == "one\n"
    assert resumed_in(place, model, place.saved[0]) == (Mode.ASK, [])


def without_mode(journal: Path) -> str:
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(line for line in lines if json.loads(line)["event"] != "mode"))
    return journal.parent.name


def without_code(journal: Path) -> str:
    with journal.open("ab") as file:
        file.write(b'{"event":"mode","mode":"auto"}\n')
    return journal.parent.name


def begun_at_another_time(journal: Path) -> str:
    """With the mode of another session of this machine."""
    header, rest = journal.read_bytes().split(b"\n", 1)
    changed = json.dumps({**json.loads(header), "time": 1.5}).encode()
    journal.write_bytes(changed + b"\n" + rest)
    return journal.parent.name


def with_the_code_of_another_mode(journal: Path) -> str:
    journal.write_bytes(journal.read_bytes().replace(b'"mode":"accept-edits"', b'"mode":"auto"'))
    return journal.parent.name


@pytest.mark.parametrize("plant", [without_mode, without_code, begun_at_another_time, with_the_code_of_another_mode])
def test_a_session_that_was_changed_by_others_resumes_in_the_mode_that_asks(place: Place, plant: Callable[[Path], str]):
    model = place.model(["Hello."])
    with place.session(model, mode="accept-edits") as session:
        ask(session, "hello")
    (journal,) = place.state.glob("sessions/*/journal.jsonl")
    kept = plant(journal)
    # Also where the user's own sessions begin in another mode.
    mode, notices = resumed_in(place, model, kept, mode="auto")
    assert mode is Mode.ASK
    assert notices == [not_chosen("accept-edits" if plant is begun_at_another_time else "auto")]


def test_an_unknown_mode_leaves_the_mode_that_asks(place: Place):
    model = place.model(["Hello."])
    with place.session(model, mode="ask") as session:
        ask(session, "hello")
    (journal,) = place.state.glob("sessions/*/journal.jsonl")
    with journal.open("ab") as file:
        file.write(b'{"event":"mode","mode":"anything"}\n')
    mode, notices = resumed_in(place, model, place.saved[0], mode="auto")
    assert mode is Mode.ASK
    assert notices == ["Its mode anything is not available now: 'anything' is not a valid Mode", not_chosen("auto")]


def test_a_session_resumed_into_an_open_one_does_not_take_over_its_mode(place: Place):
    model = place.model(["Hello.", "Hello again."])
    with place.session(model, mode="auto") as session:
        ask(session, "hello")
    (journal,) = place.state.glob("sessions/*/journal.jsonl")
    without_mode(journal)
    with place.session(model, mode="auto") as session:
        ask(session, "hello")
        info = session.sessions.resume(journal.parent.name, lambda progress: None)
        assert info.resumed.notices == (not_chosen("auto"),)
        assert session.permissions.mode is Mode.ASK


def test_a_mode_given_at_the_start_is_used(place: Place):
    model = place.model(["Hello."])
    with place.session(model, mode="auto") as session:
        ask(session, "hello")
    (place.state / KEY).unlink()
    assert resumed_in(place, model, place.saved[0], mode="auto", given={"mode"}) == (Mode.AUTO, [])


def test_the_key_is_private_and_outside_the_sessions(place: Place):
    model = place.model(["Hello."])
    with place.session(model, mode="auto") as session:
        ask(session, "hello")
    assert (place.state / KEY).stat().st_mode & 0o777 == 0o600
    assert not list((place.state / "sessions").rglob(KEY))
