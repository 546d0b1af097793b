"""A conversation knows all that there is to know about a chat: what was said, shown, computed and forgotten."""

from dataclasses import replace

import pytest

from laguna_engine.config import Request
from laguna_engine.llama.model import Model
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.generation import Generation
from laguna_tui.agent.rendering import forgets
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.nano.profile import LOOKS_UP, NANO
from laguna_tui.context.blocks import Gathered
from laguna_tui.models.catalogue import load_catalogue
from tests.app.agent.scripted_engine import ScriptedEngine, answer, call

NOTHING = Gathered()


@pytest.fixture
def vocabulary(tiny_model):
    return tiny_model.vocab


@pytest.fixture
def conversation(vocabulary):
    return Conversation(vocabulary, FULL, thinking=False, opening=lambda: "[folder shop]\n\n")


def say(conversation, vocabulary, text):
    """What a generation of this text leaves in the conversation."""
    generation = Generation(ScriptedEngine(vocabulary, [text]), conversation.open_turn(), vocabulary.piece)
    request = Request(conversation.tokens)
    for _ in generation.run(request, lambda: False):
        pass
    conversation.record(generation.record(request))


def test_it_is_retold_after_the_engine_it_was_held_with_was_closed(vocabulary):
    model = Model.open(load_catalogue()["nano"].path, vocab_only=True)
    conversation = Conversation(model.vocab, NANO, thinking=False)
    conversation.begin("Where is total?", NOTHING)
    say(conversation, model.vocab, call("find", pattern="cart.py"))
    conversation.add_result("`cart.py` defines:", "find cart.py")
    conversation.remember("def total(items):")
    model.close()
    retold = conversation.retold_for(FULL, vocabulary, thinking=False)
    text = retold.decode(retold.tokens)
    assert "Where is total?" in text
    assert "<tool_call>find\n<arg_key>pattern</arg_key>\n<arg_value>cart.py</arg_value>" in text
    assert "`cart.py` defines:" in text
    assert retold.files.texts == ("def total(items):",)
    assert (retold.last, retold.computed) == (None, 0)


def test_it_is_retold_to_a_model_that_reads_few_turns_without_the_others(conversation, vocabulary):
    for number in range(3):
        conversation.begin(f"question {number}", NOTHING)
        say(conversation, vocabulary, answer("Yes."))
    retold = conversation.retold_for(replace(NANO, turns=2), vocabulary, thinking=False)
    assert "question 1" not in retold.decode(retold.tokens)
    assert "question 2" in retold.decode(retold.tokens)
    assert [each.text for each in retold.said() if each.answer is None] == [f"question {n}" for n in range(3)]


def test_a_turn_begins_with_the_very_tokens_that_were_previewed(conversation, vocabulary):
    for _ in range(2):
        previewed = conversation.begun("And this?", NOTHING)
        conversation.begin("And this?", NOTHING)
        conversation.open_turn()
        assert list(conversation.tokens) == previewed
        assert conversation.decode(previewed).count("[folder shop]") == 1


def test_the_opening_is_asked_for_once_in_a_chat(vocabulary):
    asked = []
    conversation = Conversation(vocabulary, FULL, thinking=False, opening=lambda: asked.append(1) or "[folder shop]\n")
    conversation.begun("Hello", NOTHING)
    conversation.begin("Hello", NOTHING)
    conversation.begun_alone("Hello", NOTHING)
    assert asked == [1]
    conversation.emptied().begin("Hello", NOTHING)
    assert asked == [1, 1]


def test_a_note_about_the_model_is_shown_once_in_a_chat_and_any_other_each_time(vocabulary):
    conversation = Conversation(vocabulary, replace(NANO, turns=1), thinking=False)
    notes = LOOKS_UP, "b.py is not there"
    assert conversation.take_new_notes(notes) == notes
    conversation.begin("Hello", NOTHING)
    conversation.forget_old_turns()
    assert conversation.take_new_notes(notes) == (notes[1], forgets(1))
    assert conversation.take_new_notes(notes) == notes[1:]
    assert conversation.emptied().take_new_notes(notes) == notes


def test_the_id_of_a_call_is_given_once_in_a_session(conversation, vocabulary):
    retold = conversation.retold_for(NANO, vocabulary, thinking=False)
    assert [conversation.next_call_id(), conversation.next_call_id()] == [1, 2]
    assert conversation.emptied().next_call_id() == 3
    assert conversation.retold_for(NANO, vocabulary, thinking=False).next_call_id() == 3
    assert retold.next_call_id() == 1


def test_the_last_generation_is_the_newest_that_said_something(conversation, vocabulary):
    conversation.begin("Hello", NOTHING)
    say(conversation, vocabulary, answer("Hi."))
    say(conversation, vocabulary, "")
    assert vocabulary.detokenize(list(conversation.last.tokens)).decode() == answer("Hi.")
    assert conversation.emptied().last is None
