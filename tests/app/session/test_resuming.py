"""A session that is closed, or killed, and resumed continues as if it had never stopped."""

import random
import re
from contextlib import suppress
from datetime import date

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.base.events import Asked, Compacted, TextDelta, ToolStarted, TurnEnd, TurnFinished
from laguna_tui.base.permission_request import Mode
from tests.app.session.place import Place, ask, contents, start, tokens
from tests.scripted_model import call, raw, say, think


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Place(tmp_path)


def edited(old, new):
    return [say(call("read", path="a.txt")), say(call("edit", path="a.txt", old=old, new=new)), say(f"Now {new}.")]


def test_the_prompt_is_that_of_a_session_that_never_stopped(place):
    script = ["Hello.", *edited("one", "two"), "Yes."]
    with place.session(place.model(script)) as session:
        ask(session, "hello")
        ask(session, "make it two")
        ask(session, "really?")
        whole, files = tokens(session), contents(place.project)
    place.reset()
    model = place.model(script)
    with place.session(model) as session:
        ask(session, "hello")
    (kept,) = place.saved
    with place.session(model, kept) as session:
        ask(session, "make it two")
    with place.session(model, kept) as session:
        ask(session, "really?")
        assert tokens(session) == whole
        assert contents(place.project) == files
    assert place.saved == [kept]


def test_the_newest_turns_are_shown_again(place):
    model = place.model([say(think("Let me look."), call("read", path="a.txt")), "It says one."])
    with place.session(model, thinking=True) as session:
        shown = ask(session, "what does it say?")
    with place.session(model, place.saved[0], thinking=True) as session:
        resumed = session.info_at_start.resumed
        assert resumed is not None
        assert resumed.left_out == 0
        assert resumed.notices == ()
        asked, *others = resumed.events
        assert isinstance(asked, Asked)
        assert asked.message == "what does it say?"
        assert [each for each in others if isinstance(each, ToolStarted)] == [
            each for each in shown if isinstance(each, ToolStarted)
        ]
        text = "".join(each.text for each in shown if isinstance(each, TextDelta))
        assert [each.text for each in others if isinstance(each, TextDelta)] == [text]
        assert others[-1] == TurnFinished(TurnEnd.ANSWERED)


def test_a_session_of_another_day_has_the_date_of_its_first_one(place):
    with place.session(place.model(["Hello."])) as session:
        ask(session, "hello")
    journal = place.state / "sessions" / place.saved[0] / "journal.jsonl"
    journal.write_bytes(re.sub(rb'"time":[\d.]+', b'"time":1709200000', journal.read_bytes(), count=1))
    with place.session(place.model(["Hello."]), place.saved[0]) as session:
        assert session.parts.agent.conversation.prompt().day == date.fromtimestamp(1709200000)


def test_a_session_has_no_folder_before_its_first_message(place):
    with place.session(place.model(["Hello."])) as session:
        assert place.saved == []
        ask(session, "hello")
        assert len(place.saved) == 1


def test_undo_works_after_resuming_and_after_that_redo(place):
    model = place.model([*edited("one", "two"), *edited("two", "three")])
    with place.session(model) as session:
        before = tokens(session)
        ask(session, "make it two")
        at_two = tokens(session)
        ask(session, "make it three")
        at_three = tokens(session)
    (kept,) = place.saved
    with place.session(model, kept) as session:
        session.history.apply(session.history.plan_undo())
        assert ((place.project / "a.txt").read_text(), tokens(session)) == ("two\n", at_two)
    with place.session(model, kept) as session:
        assert [point.undone for point in session.history.points()] == [False, True]
        assert [each.message for each in session.info_at_start.resumed.events if isinstance(each, Asked)] == [
            "make it two"
        ]
        session.history.apply(session.history.plan_redo())
        assert ((place.project / "a.txt").read_text(), tokens(session)) == ("three\n", at_three)
    with place.session(model, kept) as session:
        session.history.apply(session.history.plan_rewind(1))
        assert ((place.project / "a.txt").read_text(), tokens(session)) == ("one\n", before)


class Walk:
    """Random things done to a session that is closed and resumed in between; what it is must not change by that."""

    def __init__(self, place, seed):
        self.place, self.chance = place, random.Random(seed)
        self.models = [place.model(self.script, f"{name}.gguf") for name in ("first", "other")]
        self.session = place.prepared(self.models[0], context=6144)
        self.session.open(start)
        self.at_turn = {}

    def script(self, seen):
        chance = self.chance
        while True:
            text = " ".join(chance.choice(["it", "reads", "two", "files"]) for _ in range(chance.randrange(4, 60)))
            yield chance.choice(
                [
                    text,
                    say(call("read", path=chance.choice(["a.txt", "long.txt"]))),
                    say(call("write", path=f"{chance.randrange(3)}.txt", content=text)),
                    say(call("shell", cmd=f"echo {chance.random()} >> b.txt")),
                    say(text, call("read", path="a.txt"), call("read", path="long.txt")),
                    say(call("todo", items=f"[ ] {text}\n[x] begin")),
                    raw("<tool_call>read\n<arg_key>path"),
                ]
            )

    def ask(self):
        mention = self.chance.choice(["", " @a.txt", " @long.txt"])
        events = self.session.chat.ask(f"do {self.chance.randrange(100)}{mention}")
        stop, steer = self.chance.choice([None, None, 0, 3, 9]), self.chance.choice([None, None, 4])
        for number, event in enumerate(events):
            self.compacted |= isinstance(event, Compacted)
            if number == stop:
                self.session.chat.cancel()
            if number == steer:
                self.session.chat.steer("and quickly")

    def undo(self):
        with suppress(UserError):
            self.session.history.apply(self.session.history.plan_undo())

    def redo(self):
        with suppress(UserError):
            self.session.history.apply(self.session.history.plan_redo())

    def rewind(self):
        done = [point.number for point in self.session.history.points() if not point.undone]
        if done:
            number = self.chance.choice(done)
            self.session.history.apply(self.session.history.plan_rewind(number))
            if number in self.at_turn:
                assert tokens(self.session) == self.at_turn[number]

    def change(self):
        blocks = [block for block in self.session.prompt.blocks() if len(block.choices) > 1]
        if blocks:
            block = self.chance.choice(blocks)
            self.session.prompt.change({block.number: self.chance.choice(block.choices)})

    def compact(self):
        list(self.session.chat.compact(self.chance.choice(["", "keep the files"])))

    def switch(self):
        self.session.models.switch(str(self.chance.choice(self.models)), start)
        self.at_turn.clear()

    def tell(self):
        list(self.session.commands.run("echo told", attach=True))

    def mode(self):
        self.session.permissions.mode = self.chance.choice([Mode.AUTO, Mode.ACCEPT_EDITS, Mode.AUTO])

    def what_it_is(self):
        session = self.session
        agent, changes = session.parts.agent, session.parts.changes
        state = agent.conversation.state
        points = [(point.number, point.title, point.paths, point.undone) for point in session.history.points()]
        return {
            "tokens": tokens(session),
            "said": [encoded_like(each) for each in state.current],
            "forgotten": len(state.forgotten),
            "rest": state[2:],
            "points": points,
            "todo": agent._toolbox.todo.text,
            "seen": changes.seen._digests,
            "mode": session.permissions.mode,
            "told": [piece.text for piece in agent.attached],
            "files": contents(self.place.project),
            "model": session.title,
            "blocks": [(block.title, block.place, block.choices, block.tokens) for block in session.prompt.blocks()],
        }

    def again(self):
        before = self.what_it_is()
        kept = self.session.sessions.current
        self.session.close()
        self.session = self.place.prepared(self.models[0], "" if kept is None else kept.id, context=6144)
        info = self.session.open(start)
        if kept is not None:
            assert info.resumed.notices == ()
            after = self.what_it_is()
            assert {key: after[key] for key in before} == before

    def step(self):
        number = self.session.parts.agent.history.next_number
        at, self.compacted = tokens(self.session), False
        act = self.chance.choices(
            [self.ask, self.undo, self.redo, self.rewind, self.change, self.compact, self.switch, self.tell, self.mode],
            [10, 2, 2, 1, 3, 1, 1, 1, 1],
        )[0]
        act()
        if act == self.ask and self.session.parts.agent.history.next_number != number and not self.compacted:
            self.at_turn[number] = at
        return act.__name__


def encoded_like(said):
    return repr(said) if said.trace is not None else (said.role, said.label, said.parts, said.given)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.sampled(3)
def test_after_anything_that_is_done_a_session_is_resumed_as_it_was(tmp_path, monkeypatch, seed):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    walk = Walk(Place(tmp_path, **{"long.txt": "".join(f"line {number} of it\n" for number in range(300))}), seed)
    try:
        for _ in range(12):
            walk.step()
            walk.again()
    finally:
        walk.session.close()


def test_the_bundled_model_continues_with_the_same_prompt(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = Place(tmp_path, **{"shop.py": "def total_price(items):\n    return sum(items)\n"})
    questions = ["Where is total_price defined?", "Which files are there?", "hello"]
    options = {"temperature": 0.0, "max_tokens": 64, "context": None, "mode": "ask", "thinking": None}
    with place.session("nano", **options) as session:
        prompts = []
        for question in questions:
            ask(session, question)
            prompts.append(tokens(session))
        forgotten = len(session.parts.agent.conversation.state.forgotten)
    place.reset()
    kept = ""
    for question, prompt in zip(questions, prompts, strict=True):
        with place.session("nano", kept, **options) as session:
            ask(session, question)
            assert tokens(session) == prompt
        (kept,) = place.saved
    with place.session("nano", kept, **options) as session:
        assert len(session.parts.agent.conversation.state.forgotten) == forgotten > 0
