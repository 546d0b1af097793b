"""A conversation as blocks: what they cost, what the user may make of them, and what the model reads then."""

import json
from dataclasses import dataclass, replace

import pytest

from laguna_engine.chat.messages import AssistantMessage, Role, ToolCall
from laguna_engine.events import FinishReason
from laguna_tui.agent.conversation import Conversation, all_messages
from laguna_tui.agent.prompt_preview import block_text, blocks
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.base.tool import Tool
from laguna_tui.agent.tools.nano.profile import NANO
from laguna_tui.base.messages import Attachment, BlockKind, ChatMessage, Place
from laguna_tui.base.schema import declared
from tests.app.agent.scripted_engine import Say, backend, say, text, tokens

CODE = "def total(items):\n    return sum(items)\n\n\n" * 20
FILE = f"cart.py:\n{CODE}"
CUT = "cart.py, the outline:\ndef total(items):\n"


def attached(path="cart.py", text=FILE, place=Place.KEPT, shorter=lambda: CUT):
    return Attachment(BlockKind.FILE, path, path, text, FILE, place, "mentioned", shorter)


@pytest.fixture
def scripted(tiny_model):
    return backend(tiny_model.vocab)


@pytest.fixture
def conversation(scripted):
    return Conversation(scripted, NANO, thinking=False)


@pytest.fixture
def asks():
    def ask(conversation, text, *attachments):
        said = ChatMessage(Role.USER, "message", text, opening="[folder shop]\n\n", attachments=attachments)
        conversation.add_message(said)
        say(conversation, "\nA shop.\n</assistant>")

    return ask


@pytest.fixture
def view(conversation):
    return lambda cached=0: blocks(conversation, cached)


def test_a_message_with_attachments_is_the_tokens_of_the_whole_text(conversation, scripted):
    said = ChatMessage(Role.USER, "message", "What is this?", opening="[folder shop]\n\n", attachments=(attached(),))
    prompt = conversation.prompt(said)
    assert scripted.tokens(prompt) == scripted.tokens(conversation.prompt(ChatMessage.asked("".join(said.parts))))
    assert len(scripted.sizes(prompt)[-1]) == 3


def test_every_block_has_its_kind_and_together_they_are_all_tokens(asks, conversation, view):
    asks(conversation, "What is this?", attached())
    conversation.add_result("total cart.py:1: def total(items):", "search total")
    shown = view()
    assert [block.kind for block in shown] == [
        BlockKind.SYSTEM, BlockKind.MESSAGE, BlockKind.FILE, BlockKind.MESSAGE, BlockKind.ANSWER, BlockKind.TOOL,
    ]  # fmt: skip
    assert sum(block.tokens for block in shown) == len(tokens(conversation))
    assert [block.number for block in shown] == list(range(6))
    assert (shown[2].title, shown[3].title, shown[5].title) == ("cart.py", "What is this?", "search total")


@dataclass(frozen=True, slots=True)
class AnyArguments:
    list: str = declared("")
    pattern: str = declared("")
    path: str = declared("")
    old: str = declared("")


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        ({"pattern": "total"}, "calls search total"),
        ({"list": "used", "pattern": "total"}, "calls search used total"),
        ({"path": "cart.py", "old": "total"}, "calls search cart.py"),
        ({}, "calls search"),
    ],
)
def test_an_answer_is_called_by_its_words_and_a_call_by_its_tool(scripted, arguments, title):
    tool = Tool("search", "", AnyArguments, lambda services, run, arguments: ToolResult(""), read_only=True)
    profile = replace(NANO, tools=(tool,))
    conversation = Conversation(scripted, profile, thinking=False)
    conversation.add_message(ChatMessage.asked("Where?"))
    said = "".join(f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n" for key, value in arguments.items())
    call = f"<tool_call>search\n{said}</tool_call>"
    say(conversation, f"\n{call}\n</assistant>")
    assert [block.title for block in blocks(conversation, 0)][1:] == ["Where?", title]


def test_answers_to_another_model_are_called_the_same(conversation, view):
    call = ToolCall("search", {"pattern": "total"})
    answers = AssistantMessage("A shop."), AssistantMessage("", "Where is it?", (call,))
    for answer in answers:
        conversation.add_message(ChatMessage(Role.ASSISTANT, "answer", answer=answer))
    assert [block.title for block in view()][1:] == ["A shop.", "calls search total"]


@pytest.mark.parametrize(
    "said",
    [
        "\n<tool_call>search\n<arg_key>pattern</arg_key>\n</assistant>",
        Say("\n<tool_call>search\n<arg_key>pattern", FinishReason.MAX_TOKENS),
    ],
    ids=["malformed", "cut off"],
)
def test_a_call_that_cannot_be_run_is_called_so(conversation, view, said):
    conversation.add_message(ChatMessage.asked("Where?"))
    say(conversation, said)
    assert [block.title for block in view()][1:] == ["Where?", "a call that cannot be run"]


def test_a_reminder_is_not_taken_for_the_users_words(conversation, view):
    conversation.add_message(ChatMessage.asked("What is this?"))
    conversation.add_message(ChatMessage(Role.USER, "reminder", "Answer now."))
    assert [block.why for block in view()][1:] == ["your words", "a reminder"]


def test_only_the_first_message_tells_of_the_folder(asks, conversation, view):
    asks(conversation, "What is this?", attached())
    conversation.add_message(ChatMessage(Role.USER, "message", "And this?", attachments=(attached("b.py"),)))
    titles = [block.title for block in view() if block.kind is BlockKind.MESSAGE]
    assert titles == ["folder, date and git", "What is this?", "your message begins", "And this?"]


def test_a_change_renders_nothing_again_that_is_not_changed(asks, conversation, monkeypatch):
    asks(conversation, "What is this?", attached())
    conversation.add_result("one line", "read cart.py")
    before, pieces = tokens(conversation), conversation.pieces()
    rendered = []
    format_ = conversation.backend._format
    render = format_._rendered
    monkeypatch.setattr(format_, "_rendered", lambda message, by: rendered.append(message) or render(message, by))
    conversation.change({5: Place.DROPPED})
    assert conversation.pieces()[:5] == pieces[:5]
    assert tokens(conversation)[: pieces[5].start] == before[: pieces[5].start]
    assert [each.role for each in rendered] == [Role.TOOL]


def test_cached_tokens_are_counted_from_the_start(asks, conversation, view):
    asks(conversation, "What is this?", attached())
    system, opening, file, words, _ = view()
    reached = system.tokens + opening.tokens + 5
    assert [block.cached for block in view(reached)] == [system.tokens, opening.tokens, 5, 0, 0]
    assert file.cached == words.cached == 0


def test_only_attachments_and_results_can_be_changed(asks, conversation, view):
    asks(conversation, "What is this?", attached())
    conversation.add_result("one line", "read cart.py")
    choices = {block.title: block.choices for block in view()}
    assert choices["cart.py"] == (Place.KEPT, Place.SHORTENED, Place.DROPPED)
    assert choices["read cart.py"] == (Place.KEPT, Place.DROPPED)
    assert {choices[title] for title in ("system prompt and tools", "What is this?", "A shop.")} == {(Place.KEPT,)}


def test_what_is_dropped_leaves_a_line_that_says_so_and_comes_back_as_it_was(asks, conversation, view):
    asks(conversation, "What is this?", attached())
    before, tokens = text(conversation), view()[2].tokens
    conversation.change({2: Place.DROPPED})
    assert CODE not in text(conversation)
    assert "left out: cart.py" in text(conversation)
    assert (view()[2].place, view()[2].whole) == (Place.DROPPED, tokens)
    conversation.change({2: Place.KEPT})
    assert text(conversation) == before


def test_what_is_shortened_says_what_it_would_take_whole(asks, conversation, view):
    asks(conversation, "What is this?", attached())
    whole = view()[2].tokens
    conversation.change({2: Place.SHORTENED})
    assert "the outline" in text(conversation)
    assert view()[2].tokens < view()[2].whole == whole


def shortened(conversation, view, result, label):
    conversation.add_result(result, label)
    conversation.change({view()[-1].number: Place.SHORTENED})
    return text(conversation)


def test_a_long_result_keeps_what_the_question_asks_for(asks, conversation, view):
    asks(conversation, "What does parse_price raise?")
    code = [f"{n}: def other_{n}(value):\n{n + 1}:     return value * {n}" for n in range(1, 80, 2)]
    code[20] = "41: def parse_price(text):\n42:     raise PriceError(text)"
    kept = shortened(conversation, view, "\n".join(code), "read shop/prices.py")
    assert "42:     raise PriceError(text)" in kept
    assert "return value * 71" not in kept
    assert "left out to save room: lines " in kept


def test_what_a_command_printed_keeps_its_end(asks, conversation, view):
    asks(conversation, "Do the tests pass?")
    printed = "\n".join([*(f"tests/test_{n}.py ....." for n in range(200)), "=== 1 failed, 999 passed ==="])
    kept = shortened(conversation, view, json.dumps({"stdout": printed, "exit_code": 1}), "shell pytest")
    assert "=== 1 failed, 999 passed ===" in kept
    assert '"exit_code": 1' in kept
    assert "tests/test_150.py" not in kept


def test_a_shortened_result_can_be_had_whole_again(asks, conversation, view):
    asks(conversation, "What is this?")
    conversation.add_result("\n".join(f"{n}: line {n}" for n in range(1, 100)), "read notes.txt")
    before = text(conversation)
    number = view()[-1].number
    conversation.change({number: Place.SHORTENED})
    assert text(conversation) != before
    conversation.change({number: Place.KEPT})
    assert text(conversation) == before


def test_words_and_system_prompt_stay_whatever_is_asked(asks, conversation):
    asks(conversation, "What is this?", attached())
    before = text(conversation)
    conversation.change({0: Place.DROPPED, 1: Place.DROPPED, 3: Place.DROPPED, 4: Place.SHORTENED, 99: Place.DROPPED})
    assert text(conversation) == before


def test_changing_nothing_renders_the_very_same_tokens(asks, conversation, scripted):
    asks(conversation, "What is this?", attached())
    conversation.add_result("one line", "read cart.py")
    assert scripted.tokens(conversation.changed({})) == tokens(conversation)


def test_asking_what_a_change_would_be_changes_nothing(asks, conversation, scripted):
    asks(conversation, "What is this?", attached())
    before = tokens(conversation)
    assert len(scripted.tokens(conversation.changed({2: Place.DROPPED}))) < len(before)
    assert tokens(conversation) == before


def test_a_block_shows_its_text_before_and_after(asks, conversation):
    def shown(number):
        return block_text(conversation, number)

    asks(conversation, "What is this?", attached(), attached("b.py", CUT, Place.SHORTENED))
    assert (shown(2).before, shown(2).after) == (FILE, FILE)
    assert (shown(3).before, shown(3).after) == (FILE, CUT)
    conversation.change({2: Place.DROPPED})
    assert (shown(2).before, shown(2).after) == (FILE, "")
    assert shown(0).before.startswith("〈|EOS|〉<system>")
    with pytest.raises(IndexError):
        shown(99)


def test_what_is_attached_and_not_dropped_is_present(asks, conversation):
    one, other = attached(), attached("b.py", "b.py:\nx = 1\n")
    asks(conversation, "What is this?", one, other)
    assert conversation.present == {one.digest, other.digest}
    conversation.change({2: Place.DROPPED})
    assert conversation.present == {other.digest}


def test_a_dropped_result_is_no_attachment(asks, conversation):
    asks(conversation, "What is this?", attached())
    conversation.add_result("one line", "read cart.py")
    conversation.change({5: Place.DROPPED})
    assert conversation.present == {attached().digest}


def test_another_model_reads_the_same_with_the_same_places(asks, conversation, scripted):
    asks(conversation, "What is this?", attached())
    conversation.add_result("\n".join("abc" * 20), "read cart.py")
    conversation.change({2: Place.SHORTENED, 5: Place.SHORTENED})
    other = Conversation(scripted, NANO, thinking=False)
    for each in all_messages(conversation.state):
        other.add_message(each)
    assert text(other) == text(conversation)


def test_a_block_that_is_read_again_says_why(asks, conversation):
    asks(conversation, "Where?")
    first, *later = blocks(conversation, blocks(conversation, 0)[0].tokens, "the chat template leaves out thoughts")
    assert "again" not in first.why
    assert {each.why.rpartition("; ")[2] for each in later} == {"read again: the chat template leaves out thoughts"}
