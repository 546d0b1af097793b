"""What an answer has between backticks is what the texts have that it was given; all else is free."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.chat.quotations import QuotationConstraint, Quotations
from laguna_engine.config import GREEDY, PLAIN, Drafting, Request, Sampling
from laguna_engine.constrain.base import FREE, Continued
from laguna_engine.engine import Engine, EngineOptions
from laguna_engine.events import CONSTRAINED, Round
from laguna_engine.llama.model import Model
from laguna_engine.llama.vocab import Vocab
from tests.engine.constrain.test_calls_in_answers import SAMPLINGS
from tests.engine.runs import Run, gather

LIST = "Defined here:\n1. `total cart.py:1` `def total(items):`\n2. `total cart.py:12` `def total(größe):`\nand 3 more."


class Answer:
    """An answer that is being written."""

    def __init__(self, vocab: Vocab, constraint: QuotationConstraint) -> None:
        self.vocab, self.constraint = vocab, constraint

    def could_write(self, text: str) -> bool:
        """Whether all of a text is allowed, token by token."""
        ahead = self.constraint.fork()
        for token in self.vocab.tokenize(text, special=True):
            if not allows(ahead, token):
                return False
            ahead.advance(token)
        return True

    def write(self, text: str) -> "Answer":
        for token in self.vocab.tokenize(text, special=True):
            self.constraint.advance(token)
        return self


def allows(constraint: QuotationConstraint, token: int) -> bool:
    allowed = constraint.mask().allowed
    if allowed is None:
        return True
    passes = bool(allowed.passing(np.array([token], np.int32))[0])
    assert passes == (token in allowed.every())
    return passes


def answer(vocab: Vocab, *texts: str) -> Answer:
    quotations = Quotations.of(texts)
    assert quotations is not None
    return Answer(vocab, quotations.begin(vocab, []))


@pytest.fixture
def held(tiny_model: Model) -> Answer:
    return answer(tiny_model.vocab, LIST)


def test_the_texts_own_quotations_can_be_written_in_any_order_and_words_between_them(held):
    assert held.could_write(LIST)
    assert held.could_write("`def total(größe):`, but not `total cart.py:1` - or `total cart.py:1``total cart.py:12`")
    assert held.could_write("nothing at all</assistant>")


@pytest.mark.parametrize(
    "wrong",
    ["`total cart.py:2`", "`cart.py:1`", "`total cart.py:1 `", "``", "`total\n", "see`def tota`", "x `größe`"],
)
def test_nothing_else_stands_between_backticks(held, wrong):
    assert not held.could_write(wrong)


def test_an_answer_does_not_end_inside_a_quotation(held):
    held.write("1. `total cart.py:1")
    assert not held.could_write("</assistant>")
    assert held.could_write("`</assistant>")


def test_a_tool_call_is_free(held):
    assert held.could_write("<tool_call>edit\n<arg_key>old</arg_key>\n<arg_value>`x`</arg_value>\n</tool_call>")
    held.write("<tool_call>edit `x")
    assert held.constraint.mask() is FREE
    assert not held.write("</tool_call>").could_write("`x`")


def test_without_a_quotation_in_the_texts_no_backtick_is_written(tiny_model):
    nothing = answer(tiny_model.vocab, "Used nowhere.")
    assert nothing.could_write("Used nowhere.")
    assert not nothing.could_write("`")
    assert not nothing.could_write("Used `here`")


def test_texts_in_which_it_cannot_be_told_what_is_quoted_hold_nothing():
    assert Quotations.of(["Nothing matches `a`b`."]) is None
    assert Quotations.of(["one `line", "and` another"]) is None


def test_only_tokens_inside_quotations_count_as_constrained(held):
    assert held.constraint.mask().wide
    assert not held.write("`total").constraint.mask().wide


def test_what_can_only_follow_is_drafted(held):
    assert not held.constraint.draft(16)
    held.write("`def total(i")
    drafted = held.constraint.draft(16)
    assert b"".join(map(held.vocab.piece, drafted)) == b"tems):`"


@pytest.fixture(scope="module")
def opened(tiny_model_path: Path) -> Iterator[Engine]:
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=512, threads=1)) as engine:
        yield engine


@pytest.fixture
def engine(opened: Engine) -> Engine:
    opened.clear()
    return opened


def run(engine: Engine, sampling: Sampling, drafting: Drafting = PLAIN) -> Run:
    """Random weights go on from a backtick with which the answer begins."""
    quotations = Quotations.of([LIST])
    assert quotations is not None
    tick = engine.vocab.tokenize("`", special=False)
    prompt = [*(40 + (11 * index) % 400 for index in range(40)), *tick]
    held = Continued(quotations, len(tick))
    return gather(engine.generate(Request(prompt, sampling, max_tokens=100, drafting=drafting, constraints=(held,))))


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS.keys())
def test_random_weights_quote_what_is_there(engine, sampling):
    result = run(engine, sampling)
    whole = f"`{result.text}".split("`")[1:-1:2]
    assert whole
    assert set(whole) <= set(LIST.split("`")[1::2])
    assert result.stats.dropped == 0
    assert result.stats.constrained >= 1


def test_the_rest_of_a_quotation_is_drafted(engine):
    result = run(engine, GREEDY, Drafting(length=8, sources=frozenset({CONSTRAINED})))
    rounds = [event for event in result.events if isinstance(event, Round) and event.drafter == CONSTRAINED]
    assert sum(event.accepted for event in rounds) >= 1
