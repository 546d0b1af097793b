"""The renderer's output equals that of poolside's own templates byte for byte."""

import json
from pathlib import Path
from typing import Any

import pytest

from laguna_engine.chat.encoding import SafeEncoder
from laguna_engine.chat.messages import AssistantMessage, ToolCall, ToolSpec
from laguna_engine.chat.template import Family, Renderer, family_for
from laguna_engine.errors import ModelFileError
from tests.engine.chat.conversations import CONVERSATIONS
from tests.engine.chat.fake_vocabulary import LAGUNA_SPECIALS, FakeVocabulary

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text("utf-8"))


def renderer(family: Family = Family.XS_2_1, thinking: bool = False) -> Renderer:
    return Renderer(SafeEncoder(FakeVocabulary()), family, thinking)


def text(tokens: list[int]) -> str:
    return SafeEncoder(FakeVocabulary()).decode(tokens)


def spec(tool: dict[str, Any]) -> ToolSpec:
    return ToolSpec(**tool["function"])


def past_turn(message: dict[str, Any]) -> AssistantMessage:
    calls = tuple(ToolCall(**call["function"]) for call in message["tool_calls"])
    return AssistantMessage(message["content"], message["reasoning"], calls)


def render(family: Family, thinking: bool, given: dict[str, Any], encoder: SafeEncoder) -> list[int]:
    """The conversation built as the application builds it: piece by piece."""
    ours, messages = Renderer(encoder, family, thinking), list(given["messages"])
    prompt = messages.pop(0)["content"] if messages[0]["role"] == "system" else None
    tokens = ours.system(prompt, [spec(tool) for tool in given["tools"]])
    for message in messages:
        if message["role"] == "user":
            tokens += ours.user(message["content"])
        elif message["role"] == "tool":
            tokens += ours.tool_response(message["content"])
        else:
            tokens += ours.assistant(past_turn(message))
    return tokens + (ours.generation_prompt() if given["add_generation_prompt"] else [])


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['family']}-{case['thinking']}-{case['name']}")
def test_renders_what_the_published_template_renders(case):
    tokens = render(
        Family(case["family"]), case["thinking"], CONVERSATIONS[case["name"]], SafeEncoder(FakeVocabulary())
    )
    assert text(tokens) == case["text"]


def test_every_conversation_has_a_golden_rendering():
    assert {case["name"] for case in GOLDEN} == set(CONVERSATIONS)


def test_markers_with_a_token_become_that_token():
    vocabulary = FakeVocabulary()
    assert renderer().generation_prompt() == [
        vocabulary.ids["<assistant>"],
        ord("\n"),
        vocabulary.ids["</think>"],
    ]


def test_the_transcript_opens_with_one_eos_and_has_no_other():
    tokens = renderer().system("Be brief.") + renderer().user("Hello 〈|EOS|〉")
    assert tokens.count(FakeVocabulary().ids["〈|EOS|〉"]) == 1
    assert tokens[0] == FakeVocabulary().ids["〈|EOS|〉"]


def test_stop_tokens_are_resolved_by_text():
    vocabulary = FakeVocabulary()
    assert renderer().stop_tokens == {vocabulary.ids["〈|EOS|〉"], vocabulary.ids["</assistant>"]}


def test_a_vocabulary_without_eos_is_refused_with_advice():
    with pytest.raises(ModelFileError) as error:
        Renderer(SafeEncoder(FakeVocabulary(LAGUNA_SPECIALS[1:])), Family.XS_2, thinking=False)
    assert str(error.value) == "the vocabulary has no 〈|EOS|〉 token, so this is not a Laguna model; choose one"


@pytest.mark.parametrize(
    ("thinking", "generated", "appended"),
    [
        (False, "\nDone.\n</assistant>", "\n"),
        (False, "\nDone.", "\n</assistant>\n"),
        (False, "\nDone.\n", "</assistant>\n"),
        (False, "", "\n</assistant>\n"),
        (True, "\nWhy", "\n</think>\n</assistant>\n"),
        (True, "\nWhy\n</think>\nSo", "\n</assistant>\n"),
        (True, "\nWhy\n</think>\nSo\n<think>\nBut", "\n</think>\n</assistant>\n"),
        (False, "\n<think>\nWhy", "\n</think>\n</assistant>\n"),
        (False, "\n<tool_call>find\n", "</tool_call>\n</assistant>\n"),
        (False, "\n<tool_call>find\n</tool_call>\n", "</assistant>\n"),
    ],
)
def test_a_turn_is_closed_with_whatever_it_lacks(thinking, generated, appended):
    tokens = FakeVocabulary().tokenize(generated, special=True)
    assert text(renderer(thinking=thinking).close_assistant(tokens)) == appended


@pytest.mark.parametrize(
    ("thinking", "generated", "kept"),
    [
        (False, "\nDone.\n</assistant>", "\nDone.\n</assistant>"),
        (True, "\nWhy\n</think>\nSo\n</assistant>", "\nWhy\n</think>\nSo\n</assistant>"),
        (True, "\nWhy\n</assistant>", "\nWhy\n"),
        (True, "</assistant>", ""),
        (False, "\n<think>\nWhy</assistant>", "\n<think>\nWhy"),
        (False, "\nDone.\n〈|EOS|〉", "\nDone.\n"),
        (False, "\nDone.", "\nDone."),
        (True, "", ""),
    ],
)
def test_an_end_in_the_middle_of_thinking_is_taken_back(thinking, generated, kept):
    tokens = FakeVocabulary().tokenize(generated, special=True)
    assert text(renderer(thinking=thinking).kept(tokens)) == kept


def test_a_turn_of_s_is_closed_without_line_breaks():
    tokens = FakeVocabulary().tokenize("Why", special=True)
    assert text(renderer(Family.S_2_1, thinking=True).close_assistant(tokens)) == "</think></assistant>\n"


def test_a_quoted_marker_does_not_count_as_an_open_call():
    tokens = FakeVocabulary().tokenize("A call starts with <tool_call>", special=False)
    assert text(renderer().close_assistant(tokens)) == "\n</assistant>\n"


def test_without_special_tokens_a_marker_counts_by_its_text():
    encoder = SafeEncoder(FakeVocabulary(("〈|EOS|〉",)))
    tokens = encoder.encode_markup("\n<tool_call>find\n")
    closing = Renderer(encoder, Family.XS_2_1, thinking=False).close_assistant(tokens)
    assert encoder.decode(closing) == "</tool_call>\n</assistant>\n"


@pytest.mark.parametrize(
    ("name", "template", "family"),
    [
        ("Laguna XS.2", "", Family.XS_2),
        ("laguna-xs2-Q4_K_M.gguf", "", Family.XS_2),
        ("laguna-xs2-128k", "", Family.XS_2),
        ("Laguna-XS-2.1-Q4_K_M.gguf", "", Family.XS_2_1),
        ("Laguna S 2.1", "", Family.S_2_1),
        ("tiny", "", Family.XS_2_1),
        ("tiny", "{#- Iteration on laguna_glm_thinking_v8/chat_template.jinja -#}", Family.S_2_1),
        ("Laguna XS.2", "{% include 'chat_template.jinja' %}", Family.XS_2),
    ],
)
def test_the_family_is_read_off_the_template_or_the_name(name, template, family):
    assert family_for(name, template) is family
