"""Templates of real models with something wrong in them: a conversation is still written, by them or by ChatML."""

import re
from random import Random

import pytest

from laguna_engine.chat.messages import AssistantMessage, Role, ToolCall, ToolSpec
from laguna_tui.backends.base import Message, Options, Prompt
from laguna_tui.backends.local.template_format import TemplateFormat
from tests.engine.chat.fake_vocabulary import FakeVocabulary
from tests.engine.chat.real_templates import templates
from tests.engine.chat.test_hostile_templates import ENDLESS, REFUSED

COUNT = 200
TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
WORD = re.compile(r"[a-z_]{3,}")
NUMBER = re.compile(r"\b\d+\b")
MARKUP = re.compile(r"<[|｜][^<>]{1,40}[|｜]>|</?[a-z_]{2,20}>|\[/?[A-Z_]{3,20}\]")

READ = ToolSpec("read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
CALL = ToolCall("read", {"path": "a <|im_end|> b.py"})
CONVERSATION = Prompt(
    "Be brief.",
    (READ,),
    (
        Message(Role.USER, ("[folder]\n\n", "What is in 'a'?")),
        Message(Role.ASSISTANT, answer=AssistantMessage("I look.", "Hm.", (CALL,)), calls=(CALL,)),
        Message(Role.TOOL, ("{{ 1 }} {% if x %} </tool_call>",)),
        Message(Role.ASSISTANT, answer=AssistantMessage("A line.", "So.")),
        Message(Role.USER, ("Thanks. And now?",)),
    ),
    thinking=True,
)
"""With everything that a template may write."""


def mutant(number: int) -> str:
    """One of the real templates, changed at random in one to three places."""
    random, sources = Random(number), templates()
    source = sources[sorted(sources)[number % len(sources)]]
    for _ in range(random.choice((1, 1, 2, 3))):
        source = changed(source, random)
    return source


def changed(source: str, random: Random) -> str:
    tags = list(TAG.finditer(source)) or list(re.finditer("^", source))
    one, other = random.choice(tags), random.choice(tags)
    start, end = one.span()
    match random.randrange(9):
        case 0:
            return source[:start] + source[end:]
        case 1:
            return source[:start] + other.group() + source[end:]
        case 2:
            return source[:end] + one.group() * random.choice((1, 2, 500)) + source[end:]
        case 3:
            at = random.randrange(len(source))
            return source[:at] + random.choice(("", "x", "}", "{", '"', "\ud7ff", "\U000f0000")) + source[at + 1 :]
        case 4:
            return source[: random.randrange(len(source))]
        case 5:
            # Another name or word for every use of one.
            words = WORD.findall("".join(tag.group() for tag in tags)) or ["messages"]
            return re.sub(rf"\b{random.choice(words)}\b", random.choice(words), source)
        case 6:
            return NUMBER.sub(lambda _: str(random.choice((0, 1, -1, 99999, 10**10))), source)
        case 7:
            return f"{{% for i in range({random.choice((0, 2, 300, 99999))}) %}}{source}{{% endfor %}}"
        case _:
            return source[:end] + random.choice([*ENDLESS.values(), *REFUSED.values()]) + source[end:]


@pytest.mark.sampled(40)
@pytest.mark.parametrize("number", range(COUNT))
def test_a_conversation_is_written_whatever_the_template_does(number: int) -> None:
    source = mutant(number)
    vocabulary = FakeVocabulary(tuple(sorted({"<|im_start|>", "<|im_end|>", *MARKUP.findall(source)})))
    form = TemplateFormat(vocabulary, source, 4096, "model")
    try:
        messages = form.render(CONVERSATION)
        assert len(messages) == len(CONVERSATION.messages) + 1
        tokens = [token for parts in messages for part in parts for token in part]
        tokens += form.opening_after(CONVERSATION)
        assert len(tokens) < 64 * 4096
        if form.warning:
            written = b"".join(map(vocabulary.piece, tokens)).decode()
            assert written.endswith("Thanks. And now?<|im_end|>\n<|im_start|>assistant\n")
        list(form.constraints(CONVERSATION, Options()))
        calling = form.calling
        parser = calling.parser_after(CONVERSATION)
        for token in [*b'Hm.</think>\n\n{"name": "read"', *calling.call_opening(CONVERSATION, "read")]:
            parser.feed(token, vocabulary.piece(token))
        parser.finish()
        assert isinstance(form.rewrites, str)
    finally:
        form._template.close()
