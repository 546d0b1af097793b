"""The bundled pair: the drafter's tokens stand as often as when it was trained.

A drafter that is fed wrongly still gives right answers, only slowly; its acceptance is what notices. The prompts are
chats as the app writes them, without the app's header, so that they fit here.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_engine.draft.dflash import DFlash
from laguna_engine.engine import Drafting, Engine, EngineOptions, Request
from laguna_engine.events import Round
from tests.engine.runs import Run, gather

ASSETS = Path(__file__).parents[3] / "assets/nano"
LENGTH = 7
DRAFTED = Drafting(sources=frozenset({DFlash.source}), length=LENGTH)

PER_ROUND = 6.12
"""Tokens that a round commits over all of `PROMPTS`."""

OPENING = "〈|EOS|〉<user>\n[folder shop · 2026-11-20 · git main, 2 changed]\n\n{}\n</user>\n<assistant>\n</think>"
CALLED = "\n<tool_call>{}\n{}</tool_call>\n</assistant>\n<tool_response>\n{}\n</tool_response>\n<assistant>\n</think>"
ARGUMENT = "<arg_key>{}</arg_key>\n<arg_value>{}</arg_value>\n"
DEFINED = """\
Defined here:
1. `parse_price shop/prices.py:31` `def parse_price(text: str, currency: str = "EUR") -> Decimal:`"""
USED = """\
Used here:
1. `load_basket shop/basket.py:57`
2. `render_row shop/views/table.py:112`
3. `total shop/basket.py:64`"""
TESTED = """\
Tested here:
1. `test_a_price_in_euros tests/test_prices.py:8`
2. `test_no_price tests/test_prices.py:15`"""
BASKET = "`shop/basket.py` defines:\n1. `Basket:12`\n2. `load_basket:49`\n3. `save_basket:71`"


def called(tool: str, result: str, **arguments: str) -> str:
    """The model's call, and what it was given back."""
    return CALLED.format(tool, "".join(ARGUMENT.format(*each) for each in arguments.items()), result)


PRICED = called("search", DEFINED, list="defined", pattern="parse_price")
RENAMED = called(
    "edit",
    "Changed `shop/prices.py` in 3 places.",
    path="shop/prices.py",
    old="parse_price",
    new="read_price",
    all="true",
)
PROMPTS = (
    OPENING.format("Where is `OrderBookEntry` defined?"),
    OPENING.format("What does merge_ranges take?"),
    OPENING.format("Where is parse_price defined?") + PRICED,
    OPENING.format("What does parse_price take?") + PRICED,
    OPENING.format("Who calls `parse_price`?") + called("search", USED, list="used", pattern="parse_price"),
    OPENING.format("Which tests cover parse_price?") + called("search", TESTED, list="tested", pattern="parse_price"),
    OPENING.format("Add a docstring to parse_price") + PRICED,
    OPENING.format("What is in shop/basket.py?") + called("find", BASKET, pattern="shop/basket.py"),
    OPENING.format("Rename parse_price to read_price in shop/prices.py"),
    OPENING.format("Rename parse_price to read_price in shop/prices.py") + RENAMED,
    OPENING.format("Where is close_socket?")
    + called("search", "Nothing matches `close_socket`.", list="defined", pattern="close_socket"),
    OPENING.format("What can you do?"),
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """Laguna Nano with its drafter."""
    options = EngineOptions(
        ASSETS / "laguna-nano.gguf", n_ctx=2048, threads=1, drafter=ASSETS / "laguna-nano-dflash.gguf"
    )
    with Engine.open(options) as opened:
        yield opened


def tokens_of(engine: Engine, prompt: str) -> list[int]:
    return engine.vocab.tokenize(prompt, special=True)


def answered(engine: Engine, tokens: list[int]) -> Run:
    return gather(engine.generate(Request(tokens, max_tokens=120, drafting=DRAFTED)))


def accepted(run: Run) -> list[int]:
    return [event.accepted for event in run.events if isinstance(event, Round)]


def test_its_tokens_stand_as_often_as_in_training(engine: Engine) -> None:
    engine.clear()
    runs = [answered(engine, tokens_of(engine, prompt)) for prompt in PROMPTS]
    committed = sum(len(run.tokens) - 1 for run in runs)
    rounds = sum(run.stats.rounds for run in runs)
    assert committed / rounds == pytest.approx(PER_ROUND, rel=0.05)


def test_it_drafts_as_well_in_the_second_turn_of_a_chat(engine: Engine) -> None:
    """What is left in the cache, drafter's and model's, serves as well as a fresh start."""
    first = tokens_of(engine, OPENING.format("Where is parse_price defined?"))
    engine.clear()
    call = answered(engine, first)
    second = first + call.tokens + tokens_of(engine, PRICED.split("</assistant>")[1])
    continued = answered(engine, second)
    assert continued.stats.cached_tokens > len(first)
    engine.clear()
    assert accepted(continued) == accepted(answered(engine, second))
