"""Conversations of models that bring their own template: what is read, what is kept, and how answers are parsed."""

import random
import re
from dataclasses import replace
from datetime import date

import pytest

from laguna_engine.chat.call_form import HERMES
from laguna_engine.chat.messages import (
    AssistantMessage,
    CallFinished,
    Malformed,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolSpec,
)
from laguna_tui.backends.base import Message, Prompt
from laguna_tui.backends.local.template_format import TemplateFormat
from laguna_tui.base.messages import Trace
from tests.engine.chat.fake_vocabulary import FakeVocabulary
from tests.engine.chat.real_templates import templates
from tests.engine.chat.test_real_templates import FORMS, LONG, SHORT, WRITE

READ = ToolSpec("read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
SPECIALS = ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<eos>")

QWEN = (
    "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content and loop.last %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
    "{% for c in m.tool_calls or [] %}\n<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}'
    "<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking %}<think>\n{% endif %}{% endif %}"
)
"""Like Qwen3's: old thoughts are dropped."""

NO_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('No system.') }}{% endif %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Not in turn.') }}{% endif %}"
    "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>model\n{% endif %}"
)
"""Like Gemma 2's."""


def opened(source=QWEN, specials=SPECIALS):
    return TemplateFormat(FakeVocabulary(specials), source, 4096, "model")


def text(form, tokens):
    vocabulary = FakeVocabulary(SPECIALS)
    return b"".join(map(vocabulary.piece, tokens)).decode()


def read(form, prompt):
    """The text that the model reads."""
    parts = [token for message in form.render(prompt) for part in message for token in part]
    return text(form, [*parts, *form.opening_after(prompt)])


def user(said):
    return Message(Role.USER, (said,))


def test_the_model_reads_what_the_template_writes():
    form = opened()
    prompt = Prompt("Be brief.", (), (user("Hello <|im_end|>"),))
    assert read(form, prompt) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello <|im_end|><|im_end|>\n<|im_start|>assistant\n"
    )
    tokens = [token for message in form.render(prompt) for part in message for token in part]
    # The user's own is ordinary text.
    assert tokens.count(FakeVocabulary(SPECIALS).ids["<|im_end|>"]) == 2


def test_the_date_is_that_of_the_day_on_which_the_conversation_began():
    dated = opened("{{ strftime_now('%d %b %Y') }}\n" + QWEN)
    prompt = Prompt("", (), (user("One"),), day=date(2024, 2, 29))
    assert read(dated, prompt).startswith("29 Feb 2024\n")
    today = {f"{date.today():%d %b %Y}\n"}
    shown = read(dated, replace(prompt, day=None))
    assert shown.startswith(tuple(today | {f"{date.today():%d %b %Y}\n"}))


def test_each_message_has_its_own_tokens():
    prompt = Prompt(
        "Be brief.", (), (user("One"), Message(Role.ASSISTANT, answer=AssistantMessage("Two")), user("Three"))
    )
    form = opened()
    shown = [text(form, [token for part in parts for token in part]) for parts in form.render(prompt)]
    assert [each.count(said) for each, said in zip(shown, ("Be brief.", "One", "Two", "Three"), strict=True)] == [1] * 4


@pytest.mark.parametrize(
    "parts",
    [
        ("[folder]\n\n", "a.py\n```\nx = 'é'\n```\n", "What is <|im_end|>?"),
        (" \n", "leading blanks that a template may trim", "and the words"),
        ("one", "", "two"),
    ],
)
@pytest.mark.parametrize("content", ["m.content", "m.content.strip()"])
def test_the_parts_of_a_message_have_their_own_tokens(parts, content):
    answer = Message(Role.ASSISTANT, answer=AssistantMessage("Yes."))
    prompt = Prompt("Be brief.", (), (Message(Role.USER, parts), answer))
    form = opened(QWEN.replace("m.content }}", f"{content} }}}}"))
    _, found, _ = form.render(prompt)
    first, *others = (text(form, tokens) for tokens in found)
    assert first.removeprefix("<|im_end|>\n<|im_start|>user\n").strip() == parts[0].strip()
    assert others == list(parts[1:])


def test_a_conversation_that_grows_keeps_its_beginning():
    form, messages = opened(), [user("One")]
    before: list[int] = []
    for number in range(4):
        prompt = Prompt("Be brief.", (READ,), tuple(messages))
        tokens = [token for parts in form.render(prompt) for part in parts for token in part]
        assert tokens[: len(before)] == before
        before = tokens
        messages += [Message(Role.ASSISTANT, answer=AssistantMessage(f"Answer {number}")), user(f"More {number}")]


class Words(FakeVocabulary):
    """With a token for "Two", which is what a tokenizer makes of it."""

    TWO = 1000

    def tokenize(self, text, *, special):
        found = []
        for part in re.split("(Two)", text):
            found += [self.TWO] if part == "Two" else super().tokenize(part, special=special)
        return found

    def piece(self, token):
        return b"Two" if token == self.TWO else super().piece(token)


@pytest.mark.parametrize(
    "template", [QWEN, QWEN.replace("{{ m.role }}\n", "{{ m.role }}<eos>")], ids=["behind an opening", "alone"]
)
def test_the_tokens_that_the_model_generated_are_used_again(template):
    """Whether its text stands alone between special tokens, or behind how its turn opens."""
    vocabulary = Words(SPECIALS)
    generated = (*b"Two", vocabulary.ids["<|im_end|>"])
    for model, again in (("model", True), ("another", False)):
        form = TemplateFormat(vocabulary, template, 4096, "model")
        answer = Message(Role.ASSISTANT, answer=AssistantMessage("Two"), trace=Trace(model, generated))
        *_, parts = form.render(Prompt("", (), (user("One"), answer)))
        tokens = [token for part in parts for token in part]
        assert (b"Two" in bytes(token for token in tokens if token < 256), Words.TWO in tokens) == (again, not again)


def test_a_format_without_special_tokens_keeps_what_was_written():
    form = TemplateFormat(FakeVocabulary(()), "", 4096, "model")
    asked = Prompt("Be brief.", (), (user("One"), Message(Role.ASSISTANT, answer=AssistantMessage("Two"))))
    tokens = [token for parts in form.render(asked) for part in parts for token in part]
    assert bytes(tokens).decode() == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nOne<|im_end|>\n"
        "<|im_start|>assistant\nTwo<|im_end|>\n"
    )
    assert bytes(form.opening_after(asked)).decode() == "<|im_start|>assistant\n"


def test_calls_are_read_and_thoughts_are_told_apart():
    form = opened()
    prompt = Prompt("", (READ,), (user("One"),), thinking=True)
    parser = form.parser_after(prompt)
    said = b'Hm.\n</think>\n\n<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>'
    events = [event for byte in said for event in parser.feed(byte, bytes([byte]))]
    events += parser.feed(FakeVocabulary(SPECIALS).ids["<|im_end|>"], b"<|im_end|>")
    assert parser.ended
    thought = "".join(each.text for each in events if isinstance(each, Reasoning))
    assert (thought, [each for each in events if not isinstance(each, Reasoning)]) == (
        "Hm.",
        [CallFinished(ToolCall("read", {"path": "a"}))],
    )


def test_the_turn_ends_where_the_template_ends_it():
    assert opened().stop_tokens == {FakeVocabulary(SPECIALS).ids["<|im_end|>"]}


@pytest.mark.parametrize("source", [QWEN, "{{ bos_token }}" + QWEN, "<eos>" + QWEN])
def test_a_conversation_begins_with_one_bos(source):
    vocabulary = FakeVocabulary(SPECIALS)
    vocabulary.named["bos_token"] = vocabulary.ids["<eos>"]
    vocabulary.add_bos = True
    said = read(TemplateFormat(vocabulary, source, 4096, "model"), Prompt("", (), (user("One"),)))
    assert (said.count("<eos>"), said.startswith("<eos>")) == (1, True)


def test_a_template_without_system_or_calls_has_them_as_text():
    form = opened(NO_SYSTEM)
    answer = AssistantMessage("I read.", calls=(ToolCall("read", {"path": "a"}),))
    messages = (user("One"), Message(Role.ASSISTANT, answer=answer), Message(Role.TOOL, ("content",)), user("Two"))
    assert form.form is None
    assert form.warning == ""
    assert read(form, Prompt("Be brief.", (READ,), messages)) == (
        "<|im_start|>user\nBe brief.\n\nOne<|im_end|>\n<|im_start|>assistant\nI read.\n<tool_call>\n"
        '{"name": "read", "arguments": {"path": "a"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\ncontent\n\nTwo<|im_end|>\n<|im_start|>model\n"
    )


def test_a_model_without_calls_writes_text():
    parser = opened(NO_SYSTEM).parser_after(Prompt("", (READ,), (user("One"),)))
    said = '{"name": "read", "arguments": {"path": "a"}}'
    assert [*parser.feed(0, said.encode()), *parser.finish()] == [Text(said)]


def test_chatml_stands_in_with_a_sentence():
    assert opened("").warning == "This model's file has no chat template; ChatML is used instead."
    form = opened("{{ raise_exception('Never.') }}")
    assert form.warning == (
        "This model's chat template cannot be used (TemplateError: Never.); ChatML is used instead."
    )
    assert read(form, Prompt("", (), (user("One"),))) == "<|im_start|>user\nOne<|im_end|>\n<|im_start|>assistant\n"


def test_chatml_stands_in_for_a_template_that_shows_no_messages():
    form = opened("Hello.")
    assert form.warning == (
        "This model's chat template cannot be used (it leaves out messages); ChatML is used instead."
    )


def test_a_template_that_answers_differently_each_time_is_rendered():
    form = opened("{{ range(1000) | random }}{% for m in messages %}{{ m.content }}{% endfor %}")
    assert read(form, Prompt("", (), (user("One"),))).endswith("One")


CALL = ToolCall("read", {"path": "x.py"})


def answered(said="", calls=(), thought=""):
    return Message(Role.ASSISTANT, answer=AssistantMessage(said, thought, calls), calls=calls)


def result(said):
    return Message(Role.TOOL, (said,))


CONVERSATIONS = {
    "nothing yet": [],
    "a call": [user("One"), answered("", (CALL,)), result("Content")],
    "a thought": [user("One"), answered("", (CALL,), "Hm"), result("Content"), answered("Done"), user("Next")],
    "an interrupted turn": [user("One"), answered("", (CALL,)), result("Content"), user("Next")],
    "two calls": [user("One"), answered("", (CALL, CALL)), result("Content"), result("Other content")],
    "a call without a result": [user("One"), answered("", (CALL,)), user("Next")],
    "two questions": [user("One"), user("Two")],
    "two answers": [user("One"), answered("Yes"), answered("No"), user("Two")],
    "an empty answer": [user("One"), answered(""), user("Two")],
}


@pytest.mark.sampled(14)
@pytest.mark.parametrize("name", [name for names in FORMS.values() for name in names.split()])
def test_a_real_template_renders_every_conversation_that_there_may_be(name):
    form = opened(templates()[name])
    for messages in CONVERSATIONS.values():
        prompt = Prompt("Be brief.", (READ,), tuple(messages))
        said = read(form, prompt)
        assert [part for each in messages for part in each.parts if part not in said] == []
    assert form.warning == ""


TOOL_TAGS = ("<|tool_call_start|>", "<|tool_call_end|>", "<|tool_call|>", "<tool_call>", "</tool_call>")
WRITTEN = """
    deepseek-ai-DeepSeek-R1-Distill-Llama-8B deepseek-ai-DeepSeek-R1-Distill-Qwen-32B deepseek-ai-DeepSeek-V3.1
    HuggingFaceTB-SmolLM3-3B ibm-granite-granite-3.3-2B-Instruct LFM2-8B-A1B LFM2.5-Instruct llama-cpp-deepseek-r1
    """
"""Templates that do not show the tools, or write no call, or not every one."""


def with_tags(name):
    """A real template, with a vocabulary in which its tags are special tokens."""
    tags = re.findall(r"<[|｜][^<>]*[|｜]>", templates()[name])
    vocabulary = FakeVocabulary(tuple(dict.fromkeys([*tags, *TOOL_TAGS])))
    return TemplateFormat(vocabulary, templates()[name], 4096, "model"), vocabulary


@pytest.mark.parametrize("name", WRITTEN.split())
def test_calls_that_the_template_does_not_write(name):
    form, vocabulary = with_tags(name)
    calls = tuple(ToolCall("write_file", arguments) for arguments in (LONG, SHORT))
    for said in ("", "I write.\n"):
        before = Prompt("Be brief.", (WRITE,), (user("One"),))
        prompt = replace(before, messages=(user("One"), answered(said, calls), result("Done."), result("Done.")))
        pieces = [vocabulary.piece(token) for parts in form.render(prompt) for part in parts for token in part]
        shown = b"".join(pieces).decode()
        system, turn = shown.partition("One")[::2]
        assert system.count("Writes.") == 1
        assert "example_tool" in system or "example_function_name" in system
        parser = form.parser_after(before)
        closed = "" if form.turn.thinking is None else form.turn.thinking.closes
        events = [event for letter in closed + turn.partition("Done.")[0] for event in parser.feed(0, letter.encode())]
        found = [each for each in [*events, *parser.finish()] if isinstance(each, CallFinished | Malformed)]
        assert found == [CallFinished(call) for call in calls]
        # The tags of the calls and of the example are special tokens; the same in an argument are text.
        assert pieces.count(b"<tool_call>") == (3 if form.turn.forms == (HERMES,) else 0)


def test_a_model_that_only_chats_calls_tools_when_it_has_to():
    form = opened(NO_SYSTEM)
    assert not form.writes_calls
    assert read(form.calling, Prompt("Be brief.", (READ,), (user("One"),))) == (
        "<|im_start|>user\nBe brief.\n\n"
        "You can call any of the following function tools to satisfy the user's requests:\n\n"
        '{"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": '
        '{"type": "object", "properties": {"path": {"type": "string"}}}}}\n\n'
        "Example function tool call syntax:\n\n<tool_call>\n"
        '{"name": "example_tool", "arguments": {"example_argument": "some value"}}\n</tool_call>\n\n'
        "One<|im_end|>\n<|im_start|>model\n"
    )


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("Qwen-Qwen2.5-7B-Instruct", ""),
        ("Qwen3-Coder", ""),
        ("Qwen-Qwen3-0.6B", "leaves out earlier thoughts"),
        ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "leaves out earlier thoughts"),
        ("mistralai-Mistral-Nemo-Instruct-2407", "moves the list of tools"),
        ("unsloth-mistral-Devstral-Small-2507", ""),
    ],
)
def test_what_a_template_changes_of_what_was_read_is_known(name, change):
    assert opened(templates()[name]).rewrites == change


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(200))
def test_a_changed_real_template_does_no_harm(seed):
    """Whatever is cut out of a template, or put into it, the model is asked something and its turn is parsed."""
    dice = random.Random(seed)
    source = dice.choice(list(templates().values()))
    for _ in range(dice.randrange(1, 6)):
        at, size = dice.randrange(len(source)), dice.randrange(40)
        moved = dice.randrange(len(source))
        source = source[:at] + dice.choice(("", source[moved : moved + size])) + source[at + dice.choice((0, size)) :]
    form = opened(source)
    call = AssistantMessage("Yes.", "Hm.", (ToolCall("read", {"path": "a\n'b'"}),))
    asked = user("One")
    messages = (asked, Message(Role.ASSISTANT, answer=call), Message(Role.TOOL, ("content",)), user("Two"))
    said = read(form, Prompt("Be brief.", (READ,), messages))
    parser = form.parser_after(Prompt("Be brief.", (READ,), (asked,)))
    events = [event for letter in said for event in parser.feed(0, letter.encode())]
    assert said
    assert [*events, *parser.finish()]
