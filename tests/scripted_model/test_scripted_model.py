"""The scripted model is a model: what it says passes the real sampler, cache, drafts, parser and tools."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from laguna_engine.chat.encoding import SafeEncoder
from laguna_engine.config import PLAIN, Drafting, Request, Sampling, Speculation
from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.suffix import SuffixDrafter
from laguna_engine.engine import Engine, EngineOptions
from laguna_engine.events import Finished, FinishReason, Round, Token
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.base.events import (
    AgentEvent,
    CallRejected,
    DraftRound,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
)
from laguna_tui.session.session import Session
from tests.engine import drafters, tiny
from tests.scripted_model import (
    OVER,
    Script,
    Seen,
    Turn,
    call,
    raw,
    said,
    say,
    scripted_file,
    scripted_session,
    think,
    thought,
)
from tests.scripted_model.ask import TOP, command
from tests.scripted_model.model import SHAPE
from tests.scripted_model.vocabulary import SIZE

HELLO = "Hello, world: naïve 日本語 🙂, `List<User>` and <user>."
LONG = " ".join(f"word{number} of a sentence" for number in range(80))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "add.py").write_text("def add(a, b):\n    return a - b\n")
    return tmp_path / "shop"


@contextmanager
def opened(folder: Path, script: Any, **settings: Any) -> Iterator[Session]:
    with closing(scripted_session(folder, script, **{"pack": 0, **settings})) as session:
        session.open(lambda progress: None)
        yield session


SETTINGS = [
    {"temperature": 0.0},
    {"temperature": 1.0, "top_k": 20},
    {"temperature": 1.0, "top_k": 0},
    {"temperature": 0.0, "repeat_penalty": 1.3},
    {"speculation": "off", "temperature": 1.0},
    {"speculation": "off", "temperature": 0.0},
    {"draft_length": 6},
]


@pytest.mark.parametrize("thinking", [True, False])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_it_says_its_script_whatever_the_sampling(folder: Path, settings: dict[str, Any], thinking: bool):
    with opened(folder, [say(think("So be it."), HELLO)], thinking=thinking, **settings) as session:
        events = list(session.chat.ask("hello?"))
    assert said(events) == HELLO
    assert thought(events) == ("So be it." if thinking else "")
    assert events[-1] == TurnFinished(TurnEnd.ANSWERED)


def test_it_is_a_model_with_all_the_tools(folder: Path):
    with opened(folder, ["Yes."]) as session:
        assert session.opened().toolbox.profile.specs == FULL.specs
        assert session.info().warnings == ()


def test_a_call_runs_and_its_result_is_seen(folder: Path):
    script = Script([call("read", path="add.py"), lambda seen: f"It returns {seen.result.split('return ')[1]}."])
    with opened(folder, script) as session:
        events = list(session.chat.ask("what does add return?"))
    (started,) = (event for event in events if isinstance(event, ToolStarted))
    (finished,) = (event for event in events if isinstance(event, ToolFinished))
    assert (started.name, started.arguments) == ("read", {"path": "add.py"})
    assert finished.ok
    assert script.asked[1].result == finished.output
    assert said(events) == "It returns a - b."
    assert "what does add return?" in script.asked[0].user


def test_several_calls_and_words_stand_in_one_turn(folder: Path):
    (folder / "b.py").write_text("two = 2\n")
    both = say(think("Both."), "I look.", call("read", path="add.py"), call("read", path="b.py"))
    with opened(folder, [both, lambda seen: str(len(seen.results))], thinking=True) as session:
        events = list(session.chat.ask("look"))
    assert [event.arguments["path"] for event in events if isinstance(event, ToolStarted)] == ["add.py", "b.py"]
    assert said(events) == "I look.2"


def test_what_is_written_wrongly_is_refused_by_the_parser(folder: Path):
    script = [raw("<tool_call>read\n<arg_key>path</arg_key>\n</tool_call>"), lambda seen: seen.result]
    with opened(folder, script) as session:
        events = list(session.chat.ask("look"))
    (rejected,) = (event for event in events if isinstance(event, CallRejected))
    assert rejected.problem in said(events)


def test_a_text_that_only_quotes_markers_is_text(folder: Path):
    text = "Write <tool_call>read</tool_call> to call it, and </assistant> to end."
    with opened(folder, [text]) as session:
        assert said(list(session.chat.ask("how?"))) == text


def test_a_generator_reacts_to_what_it_sees_and_ends(folder: Path):
    def lines(seen: Seen):
        tries = 0
        while "a + b" not in seen.text.rpartition("<tool_response>")[2]:
            tries += 1
            (folder / "add.py").write_text("return a + b" if tries == 3 else f"try {tries}")
            seen = yield call("read", path="add.py")
        yield f"After {tries}."

    with opened(folder, lines) as session:
        assert said(list(session.chat.ask("wait for it"))) == "After 3."
        assert said(list(session.chat.ask("more?"))) == OVER


def test_an_aside_does_not_move_the_script_on(folder: Path):
    script = Script(["One.", "Two."], asides={"aside": "Between."})
    with opened(folder, script) as session:
        assert [said(list(session.chat.ask(each))) for each in ("a", "an aside", "b")] == ["One.", "Between.", "Two."]


class Talk:
    """An engine of a script, without the app."""

    def __init__(self, path: Path, script: Any, **options: Any) -> None:
        self.engine = Engine.open(EngineOptions(scripted_file(path / "model.gguf", script), threads=1, **options))
        self.encoder = SafeEncoder(self.engine.vocab)

    def __enter__(self) -> "Talk":
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    def prompt(self, text: str, *, thinking: bool = False) -> list[int]:
        head = "<think>" if thinking else "</think>"
        return self.encoder.encode_markup(f"〈|EOS|〉<user>\n{text}\n</user>\n<assistant>\n{head}")

    def events(self, prompt: list[int], **request: Any) -> list[Any]:
        return list(self.engine.generate(Request(prompt, **request)))

    def text(self, events: list[Any]) -> str:
        return self.encoder.decode([event.id for event in events if isinstance(event, Token)])


def test_a_right_draft_is_accepted_and_a_wrong_one_is_not(tmp_path: Path):
    with Talk(tmp_path, [LONG]) as talk:
        right = talk.encoder.encode_text("\n" + LONG)
        wrong = [right[6], right[20], *right[8:12]]
        script = ([*right[1:5]], wrong, right[8:11])
        events = talk.events(talk.prompt("go"), drafting=Drafting(script=script))
    rounds = [event for event in events if isinstance(event, Round)]
    assert [(each.drafted, each.accepted) for each in rounds[:2]] == [(4, 4), (6, 1)]
    assert LONG in talk.text(events)


def test_the_drafts_of_a_random_drafter_are_refused(folder: Path, tmp_path: Path):
    drafter = replace(drafters.LAGUNA, n_embd=SHAPE.n_embd, n_vocab=SIZE, taps=(0, 1))
    file = drafters.make(drafter).write(tmp_path / "drafter.gguf")
    with opened(folder, [LONG], drafter=str(file), draft_length=3, temperature=1.0) as session:
        events = list(session.chat.ask("say it"))
        assert session.info().warnings == ()
    rounds = [event.round for event in events if isinstance(event, DraftRound)]
    assert said(events) == LONG
    assert {each.drafter for each in rounds} >= {DFlash.source}
    assert sum(each.drafted for each in rounds if each.drafter == DFlash.source) > 50
    assert sum(each.accepted for each in rounds if each.drafter == DFlash.source) < 5


def test_what_was_said_before_is_drafted_by_copying(folder: Path):
    with opened(folder, [LONG, LONG], draft_length=8, temperature=1.0) as session:
        first, second = (list(session.chat.ask(question)) for question in ("say it", "again"))
    assert said(first) == said(second) == LONG
    copied = [event for event in second if isinstance(event, TextDelta) and event.source == SuffixDrafter.source]
    assert len("".join(event.text for event in copied)) > len(LONG) // 2


@pytest.mark.parametrize("mode", [Speculation.FAST, Speculation.OFF])
def test_a_prompt_that_was_answered_is_answered_the_same_again(tmp_path: Path, mode: Speculation):
    with Talk(tmp_path, [LONG, "Another."], speculation=mode) as talk:
        first = talk.text(talk.events(talk.prompt("go"), max_tokens=0))
        whole, again = (talk.text(talk.events(talk.prompt("go"), drafting=each)) for each in (Drafting(), PLAIN))
        other = talk.text(talk.events(talk.prompt("go on")))
    assert first == ""
    assert whole == again == f"\n{LONG}\n</assistant>"
    assert other == "\nAnother.\n</assistant>"


def test_a_prompt_that_holds_a_part_of_the_turn_gets_the_rest(tmp_path: Path):
    with Talk(tmp_path, [LONG]) as talk:
        begun = [event.id for event in talk.events(talk.prompt("go"), max_tokens=30) if isinstance(event, Token)]
        rest = talk.text(talk.events([*talk.prompt("go"), *begun]))
    assert talk.encoder.decode(begun) + rest == f"\n{LONG}\n</assistant>"


def test_reasoning_that_is_ended_from_outside_is_left(tmp_path: Path):
    with Talk(tmp_path, [say(think(LONG), "The answer.")]) as talk:
        prompt = talk.prompt("go", thinking=True)
        begun = [event.id for event in talk.events(prompt, max_tokens=30) if isinstance(event, Token)]
        end = talk.encoder.id_of("</think>")
        rest = talk.text(talk.events([*prompt, *begun, end]))
    assert rest == "\nThe answer.\n</assistant>"


SAMPLINGS = [Sampling(), Sampling(temperature=1.0, top_k=20, seed=1), Sampling(temperature=1.0, seed=1)]


@pytest.mark.parametrize("drafting", [PLAIN, Drafting(script=((), *[[40, 41, 42, 43]] * 20))], ids=["plain", "drafts"])
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["greedy", "the likeliest", "all"])
def test_a_mask_overrules_the_script(tmp_path: Path, sampling: Sampling, drafting: Drafting):
    with Talk(tmp_path, [say(think(LONG), "The answer.")]) as talk:
        prompt, thoughts = talk.prompt("go", thinking=True), talk.encoder.encode_text("\n" + LONG)
        events = talk.events(prompt, thinking_budget=10, sampling=sampling, drafting=drafting)
    assert talk.text(events) == talk.encoder.decode(thoughts[:10]) + "</think>\nThe answer.\n</assistant>"


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["greedy", "the likeliest", "all"])
def test_a_repetition_that_is_masked_is_not_said_and_the_script_goes_on(tmp_path: Path, sampling: Sampling):
    with Talk(tmp_path, [say("Again and again and again and again.", instead=" So be it.")]) as talk:
        stretch = tuple(talk.encoder.encode_text(" and again"))
        again = [*talk.prompt("go"), *talk.encoder.encode_text("\nAgain and again and again")]
        text = talk.text(talk.events(again, no_repeat=(stretch,), sampling=sampling))
    assert text.startswith(" and") is False
    assert text.endswith(" So be it.</assistant>")


@pytest.mark.parametrize(("instead", "rest"), [(None, "three."), ("Or not.", "Or not.")])
def test_behind_a_token_that_was_refused_it_goes_on(tmp_path: Path, instead: str | None, rest: str):
    with Talk(tmp_path, [say("one, two, and three.", instead=instead)]) as talk:
        begun, refused, other = map(talk.encoder.encode_text, ("\none, two,", " and", "X"))
        assert (len(refused), len(other)) == (1, 1)
        text = talk.text(talk.events([*talk.prompt("go"), *begun, *other]))
    assert text.removesuffix("</assistant>").strip() == rest


def test_a_turn_without_an_end_goes_on_with_the_models_own_tokens(tmp_path: Path):
    with Talk(tmp_path, [say("Endless", end="")]) as talk:
        sampled = Sampling(temperature=1.0, seed=1)
        events = talk.events(talk.prompt("go"), max_tokens=60, sampling=sampled)
    assert talk.text(events).startswith("\nEndless\n")
    assert events[-1].reason is FinishReason.MAX_TOKENS
    assert len({event.id for event in events if isinstance(event, Token)}) > 20


def test_a_limit_of_tokens_cuts_the_turn_and_the_next_message_gets_the_next_one(folder: Path):
    with opened(folder, [LONG, "Done."], max_tokens=20) as session:
        first, second = (list(session.chat.ask(question)) for question in ("say it", "go on"))
    assert first[-1] == TurnFinished(TurnEnd.MAX_TOKENS)
    assert LONG.startswith(said(first))
    assert said(second) == "Done."


def test_a_turn_that_is_cancelled_in_mid_word_is_over(folder: Path):
    with opened(folder, [LONG, "Done."], thinking=False) as session:
        events: list[AgentEvent] = []
        for event in session.chat.ask("say it"):
            events.append(event)
            if said(events).endswith("word1"):
                session.chat.cancel()
        second = list(session.chat.ask("go on"))
    assert events[-1] == TurnFinished(TurnEnd.CANCELLED)
    assert said(events).startswith("word0 of a sentence word1")
    assert len(said(events)) < len(LONG)
    assert said(second) == "Done."


def test_a_turn_that_left_nothing_in_the_prompt_is_said_again(tmp_path: Path):
    with Talk(tmp_path, [LONG, "Another."]) as talk:
        stream = talk.engine.generate(Request(talk.prompt("a long conversation")))
        for event in stream:
            if isinstance(event, Token) and event.index == 3:
                talk.engine.cancel()
        assert isinstance(event, Finished)
        assert event.reason is FinishReason.CANCELLED
        assert talk.text(talk.events(talk.prompt("a short one"))) == f"\n{LONG}\n</assistant>"
        assert talk.text(talk.events(talk.prompt("the next"))) == "\nAnother.\n</assistant>"


def test_a_conversation_that_is_rendered_again_gets_the_next_turn(folder: Path):
    def recorded(seen: Seen) -> Turn:
        return say(f"Answer {len(seen.text.split('<user>')) - 1}.")

    script = Script([recorded] * 3)
    with opened(folder, script) as session:
        first = said(list(session.chat.ask("one")))
        second = said(list(session.chat.ask("two")))
        conversation = session.opened().agent.conversation
        conversation.forget(1)
        third = said(list(session.chat.ask("three")))
    assert (first, second, third) == ("Answer 1.", "Answer 2.", "Answer 2.")
    assert len(script.asked) == 3


def test_other_models_are_left_alone(tmp_path: Path, tiny_path: Path):
    with Talk(tmp_path, [LONG]) as talk, Engine.open(EngineOptions(tiny_path, n_ctx=512, threads=1)) as plain:
        assert LONG in talk.text(talk.events(talk.prompt("go")))
        tokens = [event.id for event in plain.generate(Request([2, 40, 41], max_tokens=8)) if isinstance(event, Token)]
    assert len(tokens) == 8


@pytest.fixture
def tiny_path(tmp_path: Path) -> Path:
    return tiny.laguna().write(tmp_path / "tiny.gguf")


@pytest.mark.parametrize("mode", ["fast", "strict"])
def test_the_command_line_runs_with_a_script_of_a_file(folder: Path, tmp_path: Path, mode: str):
    script = tmp_path / "script.py"
    script.write_text(
        "from tests.scripted_model import call\nSCRIPT = [call('read', path='add.py'), lambda seen: seen.result]\n"
    )
    env = {**os.environ, "PYTHONPATH": str(TOP)}
    env |= {f"XDG_{kind}_HOME": str(tmp_path) for kind in ("CONFIG", "STATE")}
    line = command(script, "ask", "--json", "--speculation", mode, "what is in add.py?")
    done = subprocess.run(line, cwd=folder, env=env, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "return a - b" in json.loads(done.stdout)["answer"]
