"""A session that was resumed, copied, killed, rewound or compacted sends the tokens that it would have sent without."""

import shutil
from contextlib import ExitStack

import pytest

from tests.app.session.place import Place, ask, start
from tests.scripted_model import Script, call, say, think

BEFORE = ["what does a.txt say? @a.txt", "write b", "and the todo list?"]
LAST = "go on"


def answers(seen):
    """What the model says is decided by what it sees, so that it says the same again."""
    if seen.results:
        return "That is how it is."
    if "write b" in seen.user:
        return say(think("A file."), call("write", path="b.txt", content="b\n"), call("read", path="long.txt"))
    if "todo" in seen.user:
        return say(call("todo", items="[ ] one\n[x] two"))
    return "It says one, naïvely: \N{OK HAND SIGN}."


class Chat:
    """A session at one place, which can be interrupted; the same steps give the same prompts at any time."""

    def __init__(self, place, **settings):
        place.reset()
        self._place, self._settings = place, settings
        # The tokens of an answer are not those that its text is encoded to.
        self._script = Script(answers, asides={"Summarise the conversation": "They read and wrote."})
        self._model = place.model(self._script)
        self._open = ExitStack()
        self._enter("")

    def _enter(self, session):
        self.session = self._open.enter_context(self._place.session(self._model, session, **self._settings))

    def ask(self, *messages):
        for message in messages:
            ask(self.session, message)

    def resume(self):
        (kept,) = self._place.saved
        self._open.close()
        self._enter(kept)

    def fork(self):
        copy = self.session.sessions.fork()
        self.session.sessions.resume(copy.id, start)

    def kill(self):
        """Go on with what is on disk while nothing is closed in order."""
        state, copy = self._place.state, self._place.state.with_name("killed")
        shutil.copytree(state, copy)
        self._open.close()
        shutil.rmtree(state)
        copy.rename(state)
        (kept,) = self._place.saved
        self._enter(kept)

    def rewind(self, number):
        history = self.session.history
        history.apply(history.plan_rewind(number))

    def compact(self):
        list(self.session.chat.compact())

    def prompt(self):
        """The prompt that a message sends now."""
        self.ask(LAST)
        self._open.close()
        return list(self._script.asked[-1].tokens)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Place(tmp_path, **{"long.txt": "".join(f"line {number} of it\n" for number in range(300))})


@pytest.mark.parametrize("interrupt", [Chat.resume, Chat.fork, Chat.kill])
@pytest.mark.parametrize("thinking", [False, True])
def test_an_interruption_changes_no_token(place, interrupt, thinking):
    straight, interrupted = Chat(place, thinking=thinking), None
    straight.ask(*BEFORE)
    expected = straight.prompt()
    interrupted = Chat(place, thinking=thinking)
    for message in BEFORE:
        interrupted.ask(message)
        interrupt(interrupted)
    assert interrupted.prompt() == expected


@pytest.mark.parametrize("interrupt", [None, Chat.resume, Chat.kill])
def test_a_rewound_session_equals_one_without_the_later_messages(place, interrupt):
    straight = Chat(place)
    straight.ask(BEFORE[0])
    expected = straight.prompt()
    rewound = Chat(place)
    rewound.ask(*BEFORE)
    rewound.rewind(2)
    if interrupt is not None:
        interrupt(rewound)
    assert rewound.prompt() == expected


@pytest.mark.parametrize("interrupt", [Chat.resume, Chat.fork, Chat.kill])
def test_a_compacted_session_stays_as_it_was_compacted(place, interrupt):
    straight = Chat(place)
    straight.ask(*BEFORE)
    straight.compact()
    expected = straight.prompt()
    compacted = Chat(place)
    compacted.ask(*BEFORE)
    compacted.compact()
    interrupt(compacted)
    assert compacted.prompt() == expected
