"""While a call is written only what can run is allowed, as far as that is known; everything else stays free."""

from collections.abc import Mapping

import numpy as np
import pytest

from laguna_engine.chat.call_constraint import CallConstraint, Choices, Excerpt, ToolCalls
from laguna_engine.chat.messages import ToolSpec
from laguna_engine.constrain import matcher
from laguna_engine.constrain.base import FREE
from laguna_engine.llama.model import Model
from laguna_engine.llama.vocab import Vocab
from tests.engine.tiny import TOOL_CALL

DOCUMENT = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n\n\n# <user> returns\n"
PATHS = ["src/add.py", "src/sub.py", "README.md"]
EDIT = ToolSpec(
    "edit",
    "",
    {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("path", "old", "new")} | {"all": {"type": "boolean"}},
        "required": ["path", "old", "new"],
    },
)
READ = ToolSpec("read", "", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})


class Rules:
    """A folder with one text."""

    def rule(self, tool: str, key: str, given: Mapping[str, str]) -> Choices | Excerpt | None:
        if key == "path":
            return Choices.of(PATHS)
        return Excerpt.of(DOCUMENT, once=given.get("all") != "true") if key == "old" else None


class Call:
    """A call that is being written."""

    def __init__(self, vocab: Vocab) -> None:
        self.vocab = vocab
        self.constraint: CallConstraint = ToolCalls((EDIT, READ), Rules()).begin(vocab, [])
        self.constraint.advance(TOOL_CALL)

    def write(self, text: str) -> "Call":
        """Write text that must be allowed, token by token."""
        for token in self.vocab.tokenize(text, special=True):
            assert self.allows(token), (text, self.vocab.piece(token))
            self.constraint.advance(token)
        return self

    def allows(self, token: int) -> bool:
        allowed = self.constraint.mask().allowed
        if allowed is None:
            return True
        passes = bool(allowed.passing(np.array([token], np.int32))[0])
        assert passes == (token in allowed.every())
        return passes

    def could_write(self, text: str) -> bool:
        """Whether all of a text would be allowed."""
        ahead = Call.__new__(Call)
        ahead.vocab, ahead.constraint = self.vocab, self.constraint.fork()
        for token in self.vocab.tokenize(text, special=True):
            if not ahead.allows(token):
                return False
            ahead.constraint.advance(token)
        return True


@pytest.fixture
def call(tiny_model: Model) -> Call:
    return Call(tiny_model.vocab)


def test_only_names_of_tools_that_there_are(call):
    assert call.could_write("edit\n")
    assert call.could_write("read\n<arg_key>")
    assert not call.could_write("remove\n")
    assert not call.could_write("edi\n")
    assert not call.could_write("edit</tool_call>")
    assert not call.could_write("</tool_call>")


def test_only_arguments_of_the_tool_each_once_and_no_end_without_those_it_needs(call):
    call.write("read\n")
    assert call.could_write("<arg_key>path</arg_key>\n<arg_value>")
    assert not call.could_write("<arg_key>old</arg_key>")
    assert not call.could_write("</tool_call>")
    call.write("<arg_key>path</arg_key>\n<arg_value>README.md</arg_value>\n")
    assert call.could_write("</tool_call>")
    assert not call.could_write("<arg_key>path")


def test_blanks_between_the_tags_may_vary(call):
    assert call.could_write("read<arg_key>path</arg_key><arg_value>README.md</arg_value></tool_call>")
    assert call.could_write("read\n\n<arg_key>path</arg_key> <arg_value>README.md</arg_value>\n \n</tool_call>")


def test_only_paths_of_files_unless_the_model_means_another(call):
    call.write("read\n<arg_key>path</arg_key>\n<arg_value>")
    assert call.could_write("src/add.py</arg_value>")
    assert not call.could_write("src/mul.py</arg_value>")
    assert not call.could_write("src</arg_value>")
    assert call.constraint.mask().least == pytest.approx(0.05)
    call.constraint.relax()
    assert call.constraint.mask() is FREE
    call.write("elsewhere/mul.py</arg_value>\n</tool_call>")


def test_only_a_boolean_where_the_schema_wants_one(call):
    call.write("edit\n<arg_key>all</arg_key>\n<arg_value>")
    assert call.could_write("true</arg_value>")
    assert not call.could_write("yes</arg_value>")


@pytest.fixture
def old(call) -> Call:
    return call.write(
        "edit\n<arg_key>path</arg_key>\n<arg_value>src/add.py</arg_value>\n<arg_key>old</arg_key>\n<arg_value>"
    )


@pytest.mark.parametrize("text", ["return a - b", "def sub(a, b):\n    return", "):\n    return a + b\n\n\ndef"])
def test_an_old_text_that_is_in_the_file_once_may_be_written_and_closed(old, text):
    assert old.could_write(f"{text}</arg_value>\n<arg_key>new</arg_key>\n<arg_value>anything")


def test_what_is_not_in_the_file_cannot_be_written(old):
    assert not old.could_write("return a * b")
    assert not old.could_write("def add(a,b)")


@pytest.mark.parametrize("text", ["return a", "(a, b):", "\n\n"], ids=["twice", "twice too", "blank"])
def test_what_is_there_more_than_once_or_is_blank_cannot_be_closed(old, text):
    assert old.could_write(text)
    assert not old.could_write(f"{text}</arg_value>")


def test_with_all_a_text_may_be_there_more_than_once(call):
    call.write("edit\n<arg_key>path</arg_key>\n<arg_value>src/add.py</arg_value>\n<arg_key>all</arg_key>\n")
    call.write("<arg_value>true</arg_value>\n<arg_key>old</arg_key>\n<arg_value>")
    assert call.could_write("return a</arg_value>")
    assert call.could_write("sub</arg_value>")
    assert not call.could_write("su</arg_value>")
    assert not call.could_write("</arg_value>")


def test_a_marker_in_a_file_is_written_as_the_model_reads_it(old):
    assert old.could_write("# <\\user> returns</arg_value>")
    assert not old.could_write("# <user>")


def test_a_text_that_is_relaxed_is_free_up_to_its_end_and_what_follows_is_not(old):
    old.constraint.relax()
    old.write("return a * b</arg_value>\n<arg_key>")
    assert old.could_write("new</arg_key>")
    assert not old.could_write("path</arg_key>")


def test_where_the_closing_tag_is_text_it_ends_a_free_value(old):
    old.write("return a - b</arg_value>\n<arg_key>new</arg_key>\n<arg_value>x = '")
    assert old.constraint.mask() is FREE
    old.write("</arg_value>")
    assert not old.could_write("'")
    assert old.could_write("\n<arg_key>all</arg_key>")
    assert not old.could_write("\n<arg_key>path")


def test_outside_of_calls_everything_is_free_and_a_left_call_too(call):
    vocab = call.vocab
    constraint = ToolCalls((EDIT,), Rules()).begin(vocab, [])
    for token in vocab.tokenize("words <arg_key>", special=False):
        assert constraint.mask() is FREE
        constraint.advance(token)
    call.constraint.advance(vocab.tokenize("#", special=False)[0])
    assert call.constraint.mask() is FREE


def test_without_tools_nothing_is_held(tiny_model):
    constraint = ToolCalls(()).begin(tiny_model.vocab, [])
    constraint.advance(TOOL_CALL)
    assert constraint.mask() is FREE


def test_the_constraint_drafts_what_it_leaves_no_choice_in(call):
    def drafted() -> str:
        return call.vocab.detokenize(call.constraint.draft(200)).decode()

    assert drafted() == ""
    call.write("re")
    assert drafted().startswith("ad\n<arg_key>path</arg_key>\n<arg_value>")
    call.write("ad\n<arg_key>path</arg_key>\n<arg_value>src/a")
    assert drafted().startswith("dd.py</arg_value>")


def test_a_text_neither_begins_nor_ends_in_the_middle_of_a_character(tiny_model):
    class Accents(Rules):
        def rule(self, tool, key, given):
            return Excerpt.of("café, cafè", once=True) if key == "old" else None

    constraint = ToolCalls((EDIT,), Accents()).begin(tiny_model.vocab, [])
    call = Call.__new__(Call)
    call.vocab, call.constraint = tiny_model.vocab, constraint
    constraint.advance(TOOL_CALL)
    call.write("edit\n<arg_key>old</arg_key>\n<arg_value>")
    first, second = (next(t for t in range(512) if call.vocab.piece(t) == bytes((byte,))) for byte in "é".encode())
    assert not call.allows(second)
    call.write("caf")
    assert call.allows(first)
    constraint.advance(first)
    assert not call.could_write("</arg_value>")
    constraint.advance(second)
    assert call.could_write("</arg_value>")


def test_the_text_of_a_file_is_compiled_once_for_several_calls(tiny_model, monkeypatch):
    compiled = []
    really = matcher.compiled
    monkeypatch.setattr(matcher, "compiled", lambda vocab, lark: compiled.append(lark) or really(vocab, lark))
    document = f"{DOCUMENT}# of this test alone\n"

    class OneText(Rules):
        def rule(self, tool, key, given):
            return Excerpt(document, once=True) if key == "old" else None

    calls = ToolCalls((EDIT,), OneText())
    for _ in range(3):
        constraint = calls.begin(tiny_model.vocab, [])
        constraint.advance(TOOL_CALL)
        for token in tiny_model.vocab.tokenize("edit\n<arg_key>old</arg_key>\n<arg_value>def", special=True):
            assert constraint.mask() is FREE or constraint.mask().allowed.passing(np.array([token], np.int32))[0]
            constraint.advance(token)
    assert len([lark for lark in compiled if "substring_chunks" in lark]) == 1
