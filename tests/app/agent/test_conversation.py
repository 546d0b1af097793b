"""A conversation knows all that there is to know about a chat: what was said, shown, computed and forgotten."""

import weakref
from dataclasses import replace

import pytest

from laguna_engine.llama.model import Model
from laguna_tui.agent.conversation import MOST_READ, Conversation, all_messages, forgets
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.nano.profile import LOOKS_UP, NANO
from laguna_tui.models.catalogue import load_catalogue
from tests.app.agent.scripted_engine import answer, backend, call, say, text, tokens


@pytest.fixture
def scripted(tiny_model):
    return backend(tiny_model.vocab)


@pytest.fixture
def conversation(scripted):
    return Conversation(scripted, FULL, thinking=False, opening=lambda: "[folder shop]\n\n")


def test_it_is_retold_after_the_engine_it_was_held_with_was_closed(scripted):
    model = Model.open(load_catalogue()["nano"].path, vocab_only=True)
    conversation = Conversation(backend(model.vocab, model="nano"), NANO, thinking=False)
    conversation.add_message(conversation.message("Where is total?"))
    say(conversation, call("find", pattern="cart.py"), model="nano")
    conversation.add_result("`cart.py` defines:", "find cart.py")
    conversation.remember("def total(items):")
    model.close()
    retold = conversation.for_model(scripted, FULL, thinking=False)
    read = text(retold)
    assert "Where is total?" in read
    assert "<tool_call>find\n<arg_key>pattern</arg_key>\n<arg_value>cart.py</arg_value>" in read
    assert "`cart.py` defines:" in read
    assert retold.read == ("def total(items):",)
    assert retold.computed == 0


def test_it_is_retold_to_a_model_that_reads_few_turns_without_the_others(conversation, scripted):
    for number in range(3):
        conversation.add_message(conversation.message(f"question {number}"))
        say(conversation, answer("Yes."))
    retold = conversation.for_model(scripted, replace(NANO, turns=2), thinking=False)
    assert "question 1" not in text(retold)
    assert "question 2" in text(retold)
    assert [each.text for each in all_messages(retold.state) if each.answer is None] == [
        f"question {n}" for n in range(3)
    ]


def test_a_turn_begins_with_the_very_tokens_that_were_previewed(conversation, scripted):
    for _ in range(2):
        previewed = scripted.tokens(conversation.prompt(conversation.message("And this?")))
        conversation.add_message(conversation.message("And this?"))
        assert tokens(conversation) == previewed
        assert scripted.text(previewed).count("[folder shop]") == 1


def test_messages_that_are_only_previewed_are_not_held(conversation):
    previewed = [weakref.ref(conversation.prompt(conversation.message(text)).messages[-1]) for text in "abc"]
    assert [each() is None for each in previewed] == [True, True, False]


def test_the_opening_is_asked_for_once_in_a_chat(scripted):
    asked = []
    conversation = Conversation(scripted, FULL, thinking=False, opening=lambda: asked.append(1) or "[folder shop]\n")
    conversation.prompt(conversation.message("Hello"))
    conversation.add_message(conversation.message("Hello"))
    conversation.alone(conversation.message("Hello"))
    assert asked == [1]
    conversation.emptied().message("Hello")
    assert asked == [1, 1]


def test_a_note_about_the_model_is_shown_once_in_a_chat_and_any_other_each_time(scripted):
    conversation = Conversation(scripted, replace(NANO, turns=1), thinking=False)
    notes = LOOKS_UP, "b.py is not there"
    assert conversation.take_new_notes(notes) == notes
    conversation.add_message(conversation.message("Hello"))
    conversation.forget_old_turns()
    assert conversation.take_new_notes(notes) == (notes[1], forgets(1))
    assert conversation.take_new_notes(notes) == notes[1:]
    assert conversation.emptied().take_new_notes(notes) == notes


def test_the_id_of_a_call_is_given_once_in_a_session(conversation, scripted):
    retold = conversation.for_model(scripted, NANO, thinking=False)
    assert [conversation.next_call_id(), conversation.next_call_id()] == [1, 2]
    assert conversation.emptied().next_call_id() == 3
    assert conversation.for_model(scripted, NANO, thinking=False).next_call_id() == 3
    assert retold.next_call_id() == 1


def test_what_was_read_keeps_its_order_of_use_and_is_bounded(conversation):
    for name in "abc":
        conversation.remember(name * (MOST_READ // 3))
    conversation.remember("a" * (MOST_READ // 3))
    conversation.remember("")
    conversation.remember("d" * 10)
    assert [each[0] for each in conversation.read] == ["c", "a", "d"]
    conversation.remember("e" * 2 * MOST_READ)
    assert [each[0] for each in conversation.read] == ["e"]
