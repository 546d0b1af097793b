"""Run in a process of its own, because strict arithmetic has to be chosen before the first computation.

Prints a line for every constrained answer with drafts that is not byte for byte the plain one, then how many it tried.
"""

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from laguna_engine.chat.answer_constraint import SchemaAnswer
from laguna_engine.config import PLAIN, Drafting, Request, Sampling, Speculation
from laguna_engine.constrain.base import ConstraintSpec
from laguna_engine.engine import Engine, EngineOptions
from tests.engine.constrain import test_calls_in_answers as calls
from tests.engine.constrain import test_constraints_in_answers as sets
from tests.engine.constrain import test_json_schema as schemas
from tests.engine.constrain import test_quotations as quotations
from tests.engine.constrain.only import Only
from tests.engine.runs import gather
from tests.engine.scripted_drafters import Oracle, use

Answer = tuple[str, list[int], list[int]]
"""What was tried, the answer's tokens, and the plain answer's."""


def answer(
    engine: Engine, sampling: Sampling, drafting: Drafting, most: int, *constraints: ConstraintSpec
) -> list[int]:
    engine.clear()
    request = Request(sets.PROMPT, sampling, max_tokens=most, drafting=drafting, constraints=constraints)
    return gather(engine.generate(request)).tokens


def of_sets(engine: Engine) -> Iterator[Answer]:
    """The drafter knows the free answer, which leaves the set, or the constrained one."""
    only = Only(sets.SET, rows=12)
    for (name, sampling), length in product(sets.SAMPLINGS.items(), (1, 4, 16)):
        free = answer(engine, sampling, PLAIN, sets.COUNT)
        plain = answer(engine, sampling, PLAIN, sets.COUNT, only)
        for known in (free, plain):
            use(engine, Oracle([*sets.PROMPT, *known], engine.vocab.size, 0.9))
            drafted = answer(engine, sampling, Drafting(length=length), sets.COUNT, only)
            yield f"{name}, drafts of {length}", drafted, plain


def of_schemas(engine: Engine) -> Iterator[Answer]:
    """The constraint itself drafts what the schema leaves no choice in."""
    schema = SchemaAnswer.checked(schemas.SCHEMA)
    for name, sampling in schemas.SAMPLINGS.items():
        plain = answer(engine, sampling, PLAIN, 400, schema)
        for length in (None, 4, 16):
            yield f"schema, {name}", answer(engine, sampling, Drafting(length=length), 400, schema), plain


def of_calls(engine: Engine) -> Iterator[Answer]:
    """The constraint itself drafts a call's tags, names and paths."""
    for (name, sampling), length in product(calls.SAMPLINGS.items(), (None, 4, 16)):
        engine.clear()
        plain = calls.run(engine, sampling).tokens
        engine.clear()
        yield f"call, {name}", calls.run(engine, sampling, Drafting(length=length)).tokens, plain


def of_quotations(engine: Engine) -> Iterator[Answer]:
    """The constraint itself drafts the rest of a quotation."""
    for (name, sampling), length in product(quotations.SAMPLINGS.items(), (None, 4)):
        engine.clear()
        plain = quotations.run(engine, sampling).tokens
        engine.clear()
        yield f"quotations, {name}", quotations.run(engine, sampling, Drafting(length=length)).tokens, plain


def main() -> None:
    options = EngineOptions(Path(sys.argv[1]), n_ctx=768, threads=1, speculation=Speculation.STRICT)
    tried = 0
    for check in (of_calls, of_quotations, of_schemas, of_sets):
        with Engine.open(options) as engine:
            for what, tokens, plain in check(engine):
                tried += 1
                if tokens != plain:
                    print(f"{what}: {tokens} is not {plain}")
    print(tried)


main()
