"""Calls in the forms of real templates while they are written: what the template itself would write is allowed, with
tags that are tokens and with tags that are text, and neither another name nor another path is.
"""

import gc
import random
import re
import weakref

import numpy as np
import pytest

from laguna_engine.chat.answer_constraint import SchemaAnswer
from laguna_engine.chat.call_constraint import Choices, Excerpt, ToolCalls
from laguna_engine.chat.call_form import HERMES, CallForm, FormKind
from laguna_engine.chat.call_writing import TAG
from laguna_engine.chat.form_parser import FormParser
from laguna_engine.chat.known_markup import ThinkTags, TurnMarkup, known_markup
from laguna_engine.chat.messages import CallFinished, ToolSpec
from laguna_engine.chat.tool_text import written_calls
from laguna_engine.constrain.base import FREE
from tests.engine.chat.test_form_parser import CODER, GEMMA, LLAMA, PYTHON
from tests.engine.chat.test_real_templates import FORMS, WRITE, opened, turn

__all__ = ["opened"]
CALL = {"path": "a b.py", "text": "hi\n\tmore", "n": 3, "where": {"k": [1, True, None], "s": "x"}}
ENDS = (b'"', b"'", b"}", b"]", b")", b"<")
DOCUMENT = 'say hi\n\tmore of "it"\n'
MISSION = CallForm(FormKind.NAMED_JSON, "[TOOL_CALLS]", "</s>", "[TOOL_CALLS]", "[ARGS]")
BY_NAME = {"Hermes": HERMES, "Coder": CODER, "Llama": LLAMA, "Python": PYTHON, "Gemma": GEMMA, "Mistral": MISSION}


class Vocabulary:
    """Every byte, and the texts of special tokens."""

    eog = frozenset({0})

    def __init__(self, *specials: str) -> None:
        self._specials = dict(enumerate(dict.fromkeys(("<eos>", *specials))))
        self._ids = {text: token for token, text in self._specials.items()}
        self.pieces = [*(b"" for _ in self._specials), *(bytes((byte,)) for byte in range(256))]
        self.size = len(self.pieces)

    def piece(self, token: int) -> bytes:
        return self._specials[token].encode() if token in self._specials else self.pieces[token]

    def is_control(self, token: int) -> bool:
        return token in self._specials

    def id_of(self, text: str) -> int | None:
        return self._ids.get(text)

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        parts = re.split("(" + "|".join(map(re.escape, self._ids)) + ")", text) if special else [text]
        return [
            token
            for part in parts
            for token in ([self._ids[part]] if part in self._ids else [len(self._ids) + b for b in part.encode()])
        ]


def vocabulary(form, *, tokens):
    """A vocabulary in which a form's tags are tokens, or text."""
    written = "".join([form.opens, form.closes, form.between, form.after_name, form.key_opens, *form.key_closes])
    return Vocabulary(*(TAG.findall(written + form.value_closes + '<|"|>') if tokens else ()))


class Rules:
    """One folder with two files."""

    def __init__(self, kind: FormKind) -> None:
        self._excerpt = Excerpt.of(DOCUMENT, once=True) if kind is not FormKind.PYTHON else None

    def rule(self, tool, key, given):
        if key == "path":
            return Choices.of(["a b.py", "c.py"], least=0.0)
        return self._excerpt if key == "text" and given.get("path", "a b.py") == "a b.py" else None


def refused(markup, vocab, text, rules=None):
    """The text up to the first token that is not allowed, or all of it; and whether anything was held."""
    constraint = ToolCalls((WRITE,), rules, markup=markup).begin(vocab, [])
    said, held = b"", False
    for place, token in enumerate(vocab.tokenize(text, special=True)):
        mask = constraint.mask()
        if mask.allowed is not None:
            held = True
            passes = bool(mask.allowed.passing(np.array([token], np.int32))[0])
            if place % 9 == 0:
                assert passes == (token in mask.allowed.every())
            if not passes:
                break
        constraint.advance(token)
        said += vocab.piece(token)
    return said.decode("utf-8", "replace"), held


@pytest.mark.parametrize("tokens", [True, False], ids=["tokens", "text"])
@pytest.mark.parametrize("name", [name for names in FORMS.values() for name in names.split()])
def test_what_a_template_writes_is_allowed_and_no_other_path(name, tokens, opened):
    one = opened(name)
    if name == "openbmb-MiniCPM5-1B":
        pytest.skip("it encloses texts of several lines, and only these")
    if name == "Kimi-K3" and tokens:
        pytest.skip("what closes its values is several tokens")
    known = known_markup(one.source)
    markup = TurnMarkup(known.forms or (one.form,), None, known.dropped)
    text = turn(one, [CALL])
    opens = one.form.opens.strip("￼ \n").split("￼")[0]
    text = text[text.index(opens) if opens else text.index("{") :].rstrip("\n")
    vocab, rules = vocabulary(one.form, tokens=tokens), Rules(one.form.kind)
    assert refused(markup, vocab, text, rules) == (text, True)
    said, _ = refused(markup, vocab, text.replace("a b.py", "a c.py"), rules)
    assert said.endswith("a ")
    said, _ = refused(markup, vocab, text.replace("write_file", "write_none", 1), rules)
    assert said.endswith("write_")


@pytest.mark.parametrize("tokens", [True, False], ids=["tokens", "text"])
@pytest.mark.parametrize("form", BY_NAME.values(), ids=BY_NAME)
def test_whatever_is_allowed_is_a_call_that_can_run(form, tokens):
    dice, vocab = random.Random(3), vocabulary(form, tokens=tokens)
    types = {"path": "string", "text": "string", "n": "integer", "all": "boolean"}
    properties = {key: {"type": each} for key, each in types.items()}
    tool = ToolSpec("write_file", "", {"type": "object", "properties": properties, "required": ["path"]})
    begun = form.opens or '{"name": "'
    for _ in range(6):
        constraint = ToolCalls((tool,), Rules(form.kind), markup=TurnMarkup((form,))).begin(vocab, [])
        said = vocab.tokenize(begun, special=True)
        for token in said:
            constraint.advance(token)
        assert constraint.mask().allowed is not None
        # Free texts end when a dice says so, or an answer would take as long as its most unlikely value.
        closing = {"TAGGED": "</parameter>", "QUOTED": '<|"|>'}.get(form.kind.name, '"')
        while (mask := constraint.mask()) is not FREE or closing != '"':
            choices = vocab.tokenize(closing, special=True) if mask is FREE else None
            if choices is None:
                allowed = mask.allowed.every()
                ends = [
                    token for token in allowed.tolist() if vocab.piece(token) in (b'"', b"'", b"}", b"]", b")", b"<")
                ]
                choices = [dice.choice(ends if ends and dice.random() < 0.4 else allowed.tolist())]
            for token in choices:
                constraint.advance(token)
                said.append(token)
            if constraint._call is None or len(said) > 3000:
                break
        text = b"".join(map(vocab.piece, said))
        parser = FormParser((tool,), (form,), special=[form.opens.strip()[:12]])
        events = [*parser.feed(1, text), *parser.finish()]
        found = [each.call for each in events if isinstance(each, CallFinished)]
        assert {call.arguments["path"] for call in found} <= {"a b.py", "c.py"}, text
        assert found, text


@pytest.mark.parametrize("tokens", [True, False], ids=["tokens", "text"])
@pytest.mark.parametrize(
    ("prompt", "said", "allowed"),
    [
        ("", '<think>No {.</think>\n\n{"a": 1}', True),
        ("<think>\n", "Hm, <think>.", True),
        ("<think>\n", 'Hm.</think>{"a": 1}', True),
        ("<think>\n", "Hm.</think>Yes", False),
        ("<think>\n\n</think>\n", '{"a": 1}', True),
        ("<think>\n\n</think>\n", "Yes", False),
        ("", '<tool_call>\n{"name": "write_file"', True),
        ("", "<tool_none>", False),
    ],
)
def test_an_answer_by_a_schema_comes_after_thinking_or_a_later_call(prompt, said, allowed, tokens):
    vocab = Vocabulary(*(("<think>", "</think>", "<tool_call>") if tokens else ()))
    markup = TurnMarkup((HERMES,), ThinkTags("<think>", "</think>"))
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    spec = SchemaAnswer.checked(schema, calls=True, markup=markup, thinks=True)
    constraint = spec.begin(vocab, vocab.tokenize(f"<|im_start|>assistant\n{prompt}", special=True))
    held = True
    for token in vocab.tokenize(said, special=True):
        mask = constraint.mask().allowed
        held = held and (mask is None or bool(mask.passing(np.array([token], np.int32))[0]))
        if held:
            constraint.advance(token)
    assert held == allowed


@pytest.mark.parametrize("form", BY_NAME.values(), ids=BY_NAME)
def test_a_long_text_is_not_searched_again_at_each_token(form):
    """Its 24,000 tokens would take ten seconds otherwise."""
    vocab = vocabulary(form, tokens=True)
    text = str(written_calls(form, [("write_file", {"path": "a b.py", "text": 'x = "\\"\n' * 3_000})]))
    constraint = ToolCalls((WRITE,), markup=TurnMarkup((form,))).begin(vocab, [])
    *tokens, last = vocab.tokenize(text.removesuffix(form.closes), special=True)
    for token in tokens:
        constraint.advance(token)
    assert constraint._call is not None
    mask = constraint.mask().allowed
    assert mask is not None and mask.passing(np.array([last], np.int32)).all()


def test_a_vocabulary_is_forgotten_with_its_grammars():
    vocab = vocabulary(HERMES, tokens=True)
    constraint = ToolCalls((WRITE,), markup=TurnMarkup((HERMES,))).begin(vocab, [])
    forgotten = weakref.ref(vocab)
    del vocab, constraint
    gc.collect()
    assert forgotten() is None
