"""A model in this process behind the port: messages are rendered once, and tokens stay those that were generated."""

import threading
from collections import Counter
from dataclasses import replace

import pytest

from laguna_engine.chat.messages import AssistantMessage, Role, ToolCall, ToolSpec
from laguna_engine.chat.template import Family, Renderer
from laguna_engine.config import DRAFTING, EngineInfo, KvType, Speculation
from laguna_engine.events import FinishReason, Prefill
from laguna_tui.backends.base import Message, Options, Prompt
from laguna_tui.backends.local.backend import MAX_SOURCE_TOKENS, LocalBackend, family_of
from laguna_tui.base.events import TextDelta
from laguna_tui.base.messages import Trace
from laguna_tui.models.catalogue import load_catalogue
from tests.app.agent.scripted_engine import Say, ScriptedEngine, answer, call

FIND = ToolSpec("find", "Find a file.", {"type": "object", "properties": {"pattern": {"type": "string"}}})
QUESTION = Message(Role.USER, ("[folder shop]\n", "`cart.py`:\n1: def total():\n", "Where is total?"))
RESULT = Message(Role.TOOL, ("cart.py",))
PROMPT = Prompt("Help.", (FIND,), (QUESTION,))


def backend(vocabulary, *script, model="a", turn=None):
    return LocalBackend(ScriptedEngine(vocabulary, script), Family.XS_2_1, model, turn)


def generated(backend):
    """The answer to the prompt, read to its end."""
    made = backend.generate(PROMPT, Options())
    assert list(made)
    return made


@pytest.fixture
def vocabulary(tiny_model):
    return tiny_model.vocab


@pytest.fixture
def rendered(monkeypatch):
    """How often each kind of message was rendered."""
    counts = Counter()
    for name in ("system", "user_parts", "tool_response", "assistant"):
        whole = getattr(Renderer, name)

        def counting(self, *given, name=name, whole=whole):
            counts[name] += 1
            return whole(self, *given)

        monkeypatch.setattr(Renderer, name, counting)
    return counts


def test_a_message_is_rendered_once_whatever_prompts_it_is_part_of(vocabulary, rendered):
    model = backend(vocabulary)
    said = Message(Role.ASSISTANT, answer=AssistantMessage("In cart.py."))
    for messages in ((QUESTION,), (QUESTION, said), (QUESTION, said, RESULT), (said,)):
        prompt = replace(PROMPT, messages=messages)
        model.tokens(prompt)
        model.cost(prompt)
        model.sizes(prompt)
    assert rendered == {"system": 1, "user_parts": 1, "assistant": 1, "tool_response": 1}


def test_an_answer_stays_the_very_tokens_that_were_generated(vocabulary):
    model = backend(vocabulary, answer("It is in cart.py."))
    made = generated(model)
    before = model.engine.requests[0].tokens
    after = model.tokens(replace(PROMPT, messages=(QUESTION, made.message)))
    assert after[: len(before)] == before
    assert after[len(before) :][: len(made.message.trace.tokens)] == list(made.message.trace.tokens)


def test_an_answer_of_another_model_is_rendered_from_its_text_and_its_own_reads_its_tokens_again(vocabulary):
    first, other = backend(vocabulary, "\n\nYes.\n\n</assistant>"), backend(vocabulary, model="b")
    made = generated(first)
    prompt = replace(PROMPT, messages=(QUESTION, made.message))
    text = replace(made.message, trace=None)
    assert other.tokens(prompt) == other.tokens(replace(PROMPT, messages=(QUESTION, text)))
    assert first.tokens(prompt) != first.tokens(replace(PROMPT, messages=(QUESTION, text)))
    assert first.tokens(prompt)[: len(first.engine.requests[0].tokens)] == first.engine.requests[0].tokens


def test_a_cost_counts_each_part_and_all_that_the_engine_is_given(vocabulary):
    model = backend(vocabulary, answer("Yes."))
    cost = model.cost(PROMPT)
    assert [len(parts) for parts in cost.sizes] == [1, 3]
    assert sum(map(sum, cost.sizes)) == len(model.tokens(PROMPT))
    assert cost.total == len(model.request(PROMPT, Options()).tokens)
    assert (cost.new, cost.cached, cost.fits) == (cost.total, 0, True)
    generated(model)
    assert model.cost(PROMPT).cached == cost.total


@pytest.mark.parametrize("cut", [1, 7, 30, 1000])
def test_an_answer_that_was_cut_off_by_a_kill_is_recovered_from_its_trace(vocabulary, cut):
    model = backend(vocabulary, call("find", pattern="cart.py"))
    made = generated(model)
    trace = Trace("a", made.message.trace.tokens[:cut])
    found = model.recovered(PROMPT, trace)
    assert found.trace == trace
    whole = cut >= len(made.message.trace.tokens)
    assert found.answer.calls == ((ToolCall("find", {"pattern": "cart.py"}),) if whole else ())


def test_the_message_of_a_running_answer_does_not_change_when_it_grows(vocabulary):
    made = backend(vocabulary, answer("one two three")).generate(PROMPT, Options())
    shown = [(made.message, list(made.generated)) for event in made if isinstance(event, TextDelta)]
    assert len(shown) > 1
    assert all(list(message.trace.tokens) == tokens for message, tokens in shown)


def test_drafts_copy_from_the_latest_texts_that_fit_and_a_text_keeps_its_tokens(vocabulary):
    model = backend(vocabulary)
    first = model.request(PROMPT, Options(sources=("one", "two"))).drafting.files
    second = model.request(PROMPT, Options(sources=("two", "three"))).drafting.files
    assert [vocabulary.detokenize(list(each)) for each in first] == [b"one", b"two"]
    assert second[0] is first[1]
    long = "word " * MAX_SOURCE_TOKENS
    (only,) = model.request(PROMPT, Options(sources=("one", long))).drafting.files
    assert list(only) == vocabulary.tokenize(long, special=False)[-MAX_SOURCE_TOKENS:]
    parts = [letter * (MAX_SOURCE_TOKENS // 3) for letter in "\x01\x02\x03\x04"]
    fitting = model.request(PROMPT, Options(sources=parts)).drafting.files
    assert [vocabulary.detokenize(list(each)).decode() for each in fitting] == parts[1:]
    assert model.request(PROMPT, Options()).drafting == DRAFTING


def test_the_last_request_is_the_newest_of_the_conversation_that_generated_something(vocabulary):
    model = backend(vocabulary, Say(answer("Hi."), taken_back=True), Say("", taken_back=True), answer("A summary."))
    for options in (Options(), Options(), Options(aside=True)):
        list(model.generate(PROMPT, options))
    assert model.text(model.last.tokens) == answer("Hi.")


def test_the_template_is_that_of_the_entry_and_else_that_of_the_file():
    info = EngineInfo("Laguna S 2.1", "laguna", "", 0, 0, 1, 1, ("CPU",), KvType.F16, "", Speculation.OFF, "", ())
    entry = load_catalogue()["xs-2.1"]
    assert family_of(entry, info) is Family.XS_2_1
    assert family_of(replace(entry, template=None), info) is Family.S_2_1


def test_a_prefetch_reads_all_but_the_words(vocabulary):
    model = backend(vocabulary, Say("", reason=FinishReason.MAX_TOKENS))
    list(model.prefetch(PROMPT, Options()))
    (request,) = model.engine.requests
    read = model.text(request.tokens)
    assert read.endswith("1: def total():\n")
    assert request.max_tokens == 0


def test_of_several_on_one_engine_one_generates_and_the_others_wait(vocabulary):
    turn = threading.Lock()
    model = backend(vocabulary, answer("Yes."), turn=turn)
    turn.acquire()
    made = model.generate(PROMPT, Options())
    waiting = next(made)
    assert isinstance(waiting, Prefill)
    assert not model.engine.requests
    turn.release()
    assert "".join(event.text for event in made if isinstance(event, TextDelta)).strip() == "Yes."
    assert not turn.locked()


def test_one_that_waits_is_cancelled_without_ending_the_one_that_generates(vocabulary):
    turn = threading.Lock()
    running, waiting = (backend(vocabulary, answer("one two three"), turn=turn) for _ in range(2))
    first = running.generate(PROMPT, Options())
    next(first)
    second = waiting.generate(PROMPT, Options())
    next(second)
    waiting.cancel()
    assert list(second) == []
    assert (second.reason, second.message.answer) == (FinishReason.CANCELLED, AssistantMessage())
    list(first)
    assert first.reason is FinishReason.STOP_TOKEN


def test_an_answer_that_nobody_reads_to_its_end_gives_the_engine_back(vocabulary):
    turn = threading.Lock()
    made = backend(vocabulary, answer("one two three"), turn=turn).generate(PROMPT, Options())
    next(made)
    assert turn.locked()
    made.close()
    assert not turn.locked()
    assert list(made) == []
