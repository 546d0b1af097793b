"""Room is made in a conversation before its context is full: results are shortened, then messages summarised."""

from dataclasses import replace

import pytest

from laguna_tui.agent.compaction import Compaction
from laguna_tui.agent.conversation import Conversation
from laguna_tui.agent.options import AgentOptions
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.base.events import Compacted
from laguna_tui.base.messages import Attachment, BlockKind, Place
from tests.app.agent.scripted_engine import Say, answer, backend, call, say, text, tokens

N_CTX = 16_384
# The prompt of a profile with all tools takes half of this context in the vocabulary of a tiny model.
PROFILE = replace(
    FULL, system_prompt="Work on the shop.", tools=tuple(tool for tool in FULL.tools if tool.name in ("read", "edit"))
)
SUMMARY = "\nThe shop's key is K-17. Next: fix total.\n</assistant>"


@pytest.fixture
def vocabulary(tiny_model):
    return tiny_model.vocab


@pytest.fixture
def conversation(vocabulary):
    return Conversation(backend(vocabulary, (), N_CTX), PROFILE, thinking=False, opening=lambda: "[folder shop]\n\n")


@pytest.fixture
def reads(conversation, vocabulary):
    """A step in which the model reads a file of so many lines."""

    def read(path, lines):
        say(conversation, call("read", path=path))
        body = "\n".join(f"{n}: def function_{n}(value): return value + {n}" for n in range(1, lines + 1))
        conversation.add_result(body, f"read {path}")

    return read


@pytest.fixture
def edits(conversation, vocabulary):
    def edit(path):
        say(conversation, call("edit", path=path, old="a", new="b"))
        conversation.add_result(f"Changed `{path}` in 1 place.", f"edit {path}")

    return edit


@pytest.fixture
def asks(conversation, vocabulary):
    def ask(text):
        conversation.add_message(conversation.message(text))
        say(conversation, answer("Yes."))

    return ask


def compaction(conversation, vocabulary, script=(SUMMARY,), **more):
    conversation.use_backend(backend(vocabulary, script, N_CTX))
    return Compaction(conversation, AgentOptions(), **more)


def run(made, guidance=""):
    events = list(made.run(guidance))
    (compacted,) = [event for event in events if isinstance(event, Compacted)]
    return compacted


def test_it_is_due_before_the_model_has_no_room_to_speak(conversation, vocabulary, reads):
    conversation.add_message(conversation.message("What is this?"))
    made = compaction(conversation, vocabulary)
    assert not made.is_due()
    while conversation.size <= N_CTX - made.reserve:
        assert not made.is_due()
        reads("shop/cart.py", 60)
    assert made.is_due()


def fill(conversation, made, reads):
    number = 0
    while not made.is_due():
        number += 1
        reads(f"shop/part_{number}.py", 40)


def test_old_results_are_shortened_first_and_the_newest_stay(conversation, vocabulary, reads):
    conversation.add_message(conversation.message("What does function_7 do?"))
    made = compaction(conversation, vocabulary, script=())
    fill(conversation, made, reads)
    newest = conversation.items()[-1].text
    compacted = run(made)
    assert compacted.shortened
    assert not compacted.replaced
    assert compacted.after <= 0.7 * compacted.before
    assert newest in text(conversation)
    assert not made.is_due()


def test_what_was_shortened_can_be_taken_back(conversation, vocabulary, reads):
    conversation.add_message(conversation.message("What does function_7 do?"))
    made = compaction(conversation, vocabulary, script=())
    fill(conversation, made, reads)
    before = text(conversation)
    run(made)
    shortened = [piece.number for piece in conversation.pieces() if piece.place is Place.SHORTENED]
    conversation.change(dict.fromkeys(shortened, Place.KEPT))
    assert text(conversation) == before


def test_results_about_a_file_that_is_being_edited_are_not_shortened(conversation, vocabulary, reads, edits):
    conversation.add_message(conversation.message("Rename it."))
    reads("shop/part_1.py", 40)
    edits("shop/part_1.py")
    whole = conversation.items()[2].text
    made = compaction(conversation, vocabulary, script=())
    fill(conversation, made, lambda path, lines: reads(f"other/{path}", lines))
    assert run(made).shortened
    assert whole in text(conversation)


def talk(conversation, made, asks):
    number = 0
    while not made.is_due():
        number += 1
        asks(f"Question number {number}: " + "what about the delivery of the goods " * 8)


def test_a_talk_is_summarised_by_the_model_once_and_goes_on(conversation, vocabulary, asks):
    made = compaction(conversation, vocabulary)
    talk(conversation, made, asks)
    newest = conversation.question()[0]
    compacted = run(made)
    assert compacted.replaced
    assert compacted.after <= 0.7 * compacted.before
    assert "The shop's key is K-17." in compacted.summary
    assert "The shop's key is K-17." in text(conversation)
    assert conversation.question()[0] == newest
    assert text(conversation).count("[folder shop]") == 1


def test_the_summary_has_the_users_words_the_changed_files_and_the_todo(conversation, vocabulary, asks, edits):
    asks("Never touch the parser.")
    edits("shop/cart.py")
    made = compaction(conversation, vocabulary, todo="Open:\n- fix total")
    talk(conversation, made, asks)
    summary = run(made, "the parser").summary
    assert "shop/cart.py" in summary
    assert "- fix total" in summary
    assert "Question number" in summary


def test_files_that_are_being_edited_come_along_whole(conversation, vocabulary, asks, edits):
    present = Attachment(
        BlockKind.FILE, "shop/cart.py", "shop/cart.py", "shop/cart.py:\nnew text\n", "", Place.KEPT, ""
    )
    asked = []
    asks("Change it.")
    edits("shop/cart.py")
    made = compaction(conversation, vocabulary, read=lambda path: asked.append(path) or present)
    talk(conversation, made, asks)
    run(made)
    assert "new text" in text(conversation)
    assert set(asked) == {"shop/cart.py"}


TOLD = "AGENTS.md (2 lines; the user's instructions for this folder)\n```\nAlways say heron-42.\n\tmake check\n```\n"
AGENTS = Attachment(BlockKind.INSTRUCTIONS, "AGENTS.md", "AGENTS.md", TOLD, TOLD, Place.KEPT, "the folder is trusted")
MAPPED = "cart.py: total\n" * 40
MAP = Attachment(BlockKind.MAP, "map of the folder", "", MAPPED, MAPPED, Place.KEPT, "")
MAP_LEFT_OUT = "[left out: map of the folder]\n"


def opened(conversation, vocabulary):
    conversation.add_message(conversation.message("What is this?", (AGENTS, MAP)))
    say(conversation, answer("A shop."))


def test_instructions_outlast_every_summary_and_a_line_stands_for_the_map(conversation, vocabulary, asks):
    opened(conversation, vocabulary)
    assert text(conversation).count(MAPPED) == 1
    for _ in range(3):
        made = compaction(conversation, vocabulary)
        talk(conversation, made, asks)
        assert run(made).replaced
        assert text(conversation).count(TOLD + MAP_LEFT_OUT) == 1
        assert text(conversation).count(TOLD) == 1
        assert MAPPED not in text(conversation)
    instructions, folder_map = conversation.items()[0].attached
    assert instructions == AGENTS
    assert folder_map.why == "it was left out with the messages that the summary replaced"


def test_instructions_of_the_question_that_stays_are_there_once(conversation, vocabulary, edits):
    conversation.add_message(conversation.message("Change all of it.", (AGENTS, MAP)))
    made = compaction(conversation, vocabulary)
    while not made.is_due():
        for _ in range(20):
            edits("shop/cart.py")
    assert run(made).replaced
    assert text(conversation).count(TOLD) == 1


def test_instructions_that_the_user_left_out_stay_left_out(conversation, vocabulary, asks):
    opened(conversation, vocabulary)
    (number,) = (piece.number for piece in conversation.pieces() if piece.attachment == AGENTS)
    conversation.change({number: Place.DROPPED})
    made = compaction(conversation, vocabulary)
    talk(conversation, made, asks)
    run(made)
    assert "heron-42" not in text(conversation)
    assert text(conversation).count("[left out: AGENTS.md]\n" + MAP_LEFT_OUT) == 1


def test_the_map_may_be_left_out_to_make_room_and_instructions_never(conversation, vocabulary, asks):
    opened(conversation, vocabulary)
    asks("What does function_7 do?")
    made = compaction(conversation, vocabulary)
    assert [piece.attachment for piece in made._shortenable()] == [MAP]


@pytest.mark.parametrize("said", ["\n</assistant>", call("read", path="a.py")], ids=["nothing", "a call"])
def test_a_model_that_writes_no_summary_loses_only_the_summary(conversation, vocabulary, asks, said):
    made = compaction(conversation, vocabulary, script=[said])
    talk(conversation, made, asks)
    compacted = run(made)
    assert compacted.replaced
    assert not made.is_due()
    assert "Question number 1:" in compacted.summary or "Question number" in compacted.summary


def test_an_earlier_summary_stays_where_no_new_one_is_written(conversation, vocabulary, asks):
    made = compaction(conversation, vocabulary, script=[SUMMARY, "\n</assistant>"])
    for _ in range(2):
        talk(conversation, made, asks)
        run(made)
        conversation.backend.engine.forget()
    assert "The shop's key is K-17." in text(conversation)


def test_a_long_turn_is_compacted_within_and_keeps_its_question(conversation, vocabulary, edits):
    conversation.add_message(conversation.message("Fix every test in this repository."))
    made = compaction(conversation, vocabulary)
    while not made.is_due():
        edits("shop/cart.py")
    compacted = run(made)
    assert compacted.replaced
    assert conversation.question()[0] == "Fix every test in this repository."
    assert not made.is_due()


def test_asked_with_guidance_the_model_is_told_what_to_keep(conversation, vocabulary, asks):
    made = compaction(conversation, vocabulary)
    talk(conversation, made, asks)
    run(made, "the colour of the logo")
    assert "the colour of the logo" in conversation.backend.text(conversation.backend.engine.requests[0].tokens)


@pytest.mark.parametrize("guidance", ["", "the colour of the logo"])
def test_who_asks_has_room_made_although_the_context_is_far_from_full(conversation, vocabulary, asks, guidance):
    made = compaction(conversation, vocabulary)
    while conversation.size < N_CTX // 4:
        asks("What is the key of the shop, and where is it used? " * 5)
    assert list(made.run()) == []
    (compacted,) = [event for event in made.run(guidance, asked=True) if isinstance(event, Compacted)]
    assert compacted.replaced
    assert compacted.after <= 0.7 * compacted.before
    assert "K-17" in text(conversation)


def test_a_summary_that_is_longer_than_what_it_replaces_is_not_taken(conversation, vocabulary, asks):
    made = compaction(conversation, vocabulary, script=[answer(" ".join(map(str, range(450))))])
    while made._replaceable(made._oldest(0)) < made._summary_tokens * 4 // 3:
        asks("What is the key of the shop, and where is it used? " * 5)
    before = tokens(conversation)
    (compacted,) = [event for event in made.run(asked=True) if isinstance(event, Compacted)]
    assert not compacted.replaced
    assert tokens(conversation) == before


def test_a_model_that_forgets_old_turns_is_given_no_summary(vocabulary):
    forgetful = Conversation(backend(vocabulary, (), N_CTX), replace(PROFILE, turns=4), thinking=False)
    while forgetful.size < N_CTX // 4:
        forgetful.add_message(forgetful.message("What is the key of the shop? " * 20))
        say(forgetful, answer("Yes."))
    before = tokens(forgetful)
    (compacted,) = compaction(forgetful, vocabulary).run(asked=True)
    assert not compacted.replaced
    assert tokens(forgetful) == before


def test_where_nothing_can_be_left_out_it_says_so(conversation, vocabulary):
    conversation.add_message(conversation.message("word " * 10_000))
    made = compaction(conversation, vocabulary)
    assert made.is_due()
    assert list(made.run()) == []
    (compacted,) = made.run(asked=True)
    assert (compacted.shortened, compacted.replaced) == (0, 0)
    assert compacted.sentence == "Nothing in the context can be left out."


def test_what_is_computed_again_is_reported(conversation, vocabulary, asks):
    made = compaction(conversation, vocabulary)
    talk(conversation, made, asks)
    assert 0 < run(made).recomputed <= N_CTX


def test_going_back_to_a_mark_gives_the_very_same_tokens(conversation, vocabulary, asks):
    made = compaction(conversation, vocabulary)
    talk(conversation, made, asks)
    before, mark = tokens(conversation), conversation.mark()
    run(made)
    conversation.restore(mark)
    assert tokens(conversation) == before


def test_cancelled_while_it_writes_the_summary_the_conversation_is_whole(conversation, vocabulary, asks):
    stop = []
    script = [Say(SUMMARY, during=lambda index: stop.append(1) if index == 3 else None)]
    conversation.use_backend(backend(vocabulary, script, N_CTX))
    made = Compaction(conversation, AgentOptions(), cancelled=lambda: bool(stop))
    talk(conversation, made, asks)
    before = tokens(conversation)
    list(made.run())
    assert tokens(conversation) == before
