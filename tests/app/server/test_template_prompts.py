"""Chats with models that bring their own template: what the model reads, and what the server refuses."""

from types import SimpleNamespace

import pytest

from laguna_engine.chat.messages import AssistantMessage, CallFinished, Role, Text, ToolCall, ToolSpec
from laguna_engine.config import EngineOptions, Sampling
from laguna_tui.backends.base import Message
from laguna_tui.server.api_error import ApiError
from laguna_tui.server.chat_prompts import TemplatePrompts, chat_prompts
from laguna_tui.server.chat_request import AnswerOptions, CallChoice, ChatRequest
from laguna_tui.session.shared_model import SharedModel
from tests.answering_model import TEMPLATE
from tests.engine.chat.fake_vocabulary import FakeVocabulary

READ = ToolSpec("read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
END = "<|im_end|>"


class Vocabulary(FakeVocabulary):
    """What the engine's vocabulary has besides."""

    longest_piece = 12


def prompts_of(template):
    vocabulary = Vocabulary(("<|im_start|>", END))
    engine = SimpleNamespace(vocab=vocabulary, n_ctx=1000, info=SimpleNamespace(chat_template=template))
    drafting = EngineOptions.__dataclass_fields__  # not read here
    return chat_prompts(
        SharedModel(engine, "model", "Model", None, Sampling(), False, None, None, drafting)  # type: ignore[arg-type]
    )


@pytest.fixture
def prompts():
    return prompts_of("")


def request(*messages, **options):
    return ChatRequest(messages, AnswerOptions(Sampling(), "model"), **options)


def said(role, text):
    if role is Role.ASSISTANT:
        return Message(role, answer=AssistantMessage(text))
    return Message(role, (text,))


def test_the_template_in_the_file_is_applied(prompts):
    assert isinstance(prompts, TemplatePrompts)
    prompt = prompts.prompt(request(said(Role.SYSTEM, "Be brief."), said(Role.USER, f"Hi {END}")))
    assert prompts.text(prompt) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi <|im_end|><|im_end|>\n<|im_start|>assistant\n"
    )
    assert prompt.tokens.count(Vocabulary(("<|im_start|>", END)).ids[END]) == 2


def test_an_answer_that_comes_back_has_the_tokens_that_were_generated(prompts):
    asked = said(Role.USER, "Hi")
    first = request(asked)
    prompt = prompts.prompt(first)
    generated = [*b"Hello", 257]
    prompts.remember(prompt, AssistantMessage("Hello"), generated)
    again = prompts.prompt(request(asked, said(Role.ASSISTANT, "Hello"), said(Role.USER, "More")))
    assert again.tokens[: len(prompt.tokens) + len(generated)] == [*prompt.tokens, *generated]
    other = prompts.prompt(request(said(Role.USER, "Ho"), said(Role.ASSISTANT, "Hello"), said(Role.USER, "More")))
    assert prompts.text(other).endswith(
        "assistant\nHello<|im_end|>\n<|im_start|>user\nMore<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_turn_is_continued(prompts):
    begun = request(said(Role.USER, "Hi"), said(Role.ASSISTANT, "Hel"))
    prompt = prompts.prompt(begun)
    assert prompts.text(prompt).endswith("<|im_start|>assistant\nHel")
    parser = prompts.parser(begun, prompt)
    assert [*parser.feed(0, b"lo"), *parser.finish()] == [Text("lo")]


@pytest.mark.parametrize(
    ("only", "begun"),
    [("", '<tool_call>\n{"name": "'), ("read", '<tool_call>\n{"name": "read", "arguments": ')],
)
def test_a_forced_call_is_begun_in_the_prompt(prompts, only, begun):
    forced = request(said(Role.USER, "Hi"), tools=(READ,), choice=CallChoice.REQUIRED, only=only)
    prompt = prompts.prompt(forced)
    assert prompts.text(prompt).endswith(f"assistant\n{begun}")
    rest = '<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>'.removeprefix(begun)
    parser = prompts.parser(forced, prompt)
    assert [*parser.feed(0, rest.encode()), *parser.finish()] == [CallFinished(ToolCall("read", {"path": "a"}))]


def test_a_model_that_only_chats_is_shown_the_tools_of_a_forced_call(prompts):
    free, forced = (
        prompts.text(prompts.prompt(request(said(Role.USER, "Hi"), tools=(READ,), choice=choice)))
        for choice in (CallChoice.AUTO, CallChoice.REQUIRED)
    )
    assert free == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert forced.startswith(
        "<|im_start|>system\n"
        "You can call any of the following function tools to satisfy the user's requests:\n\n"
        '{"type": "function", "function": {"name": "read", '
    )


def test_a_result_is_rendered_as_the_template_renders_results():
    prompts = prompts_of(TEMPLATE)
    answer = AssistantMessage("", calls=(ToolCall("read", {"path": "a"}),))
    chat = request(
        said(Role.USER, "Hi"), Message(Role.ASSISTANT, answer=answer), said(Role.TOOL, "text"), tools=(READ,)
    )
    assert prompts.text(prompts.prompt(chat)).endswith(
        '<|im_start|>assistant\n<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\ntext\n</tool_response><|im_end|>\n<|im_start|>assistant\n<|turn_1|>"
    )


def test_a_turn_with_calls_is_not_continued(prompts):
    answer = AssistantMessage("", calls=(ToolCall("read", {"path": "a"}),))
    with pytest.raises(ApiError, match=r"The last message calls tools; send their results after it\."):
        prompts.prompt(request(said(Role.USER, "Hi"), Message(Role.ASSISTANT, answer=answer)))
