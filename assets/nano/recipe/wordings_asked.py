"""Ways to ask that what this model can do and what it cannot have in common, so that they do not tell which it is.

The tables per skill are samples of these ways crossed with what the skill is about.
"""

from __future__ import annotations

import random
from itertools import product

from wording import tables

TEXTS = tables("asked")
ENDS = ("",) * 4 + TEXTS.ENDS
SAMPLE, SAMPLE_AGAIN = 75, 25


def crossed(number: int, *parts: tuple[str, ...]) -> tuple[str, ...]:
    """A sample of one of each, always the same one, some with a capital."""
    ways = sorted({" ".join(filter(None, way)).replace(" ,", ",") for way in product(*parts)})
    chosen = random.Random(" ".join(ways)).sample(ways, min(number, len(ways)))
    return tuple(way[0].upper() + way[1:] if index % 3 == 0 else way for index, way in enumerate(chosen))


def again(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The same about `it`."""
    return tuple(text.replace("{n}", word) for text in texts for word in ("it", "it", "that"))


def looked_up(that: tuple[str, ...], it: tuple[str, ...]) -> tuple[str, ...]:
    """Questions that ask for what `that` and `it` say."""
    return crossed(SAMPLE, TEXTS.ASKS, that) + crossed(SAMPLE, TEXTS.GETS, it)


def looked_up_again(that: tuple[str, ...], it: tuple[str, ...]) -> tuple[str, ...]:
    """Follow-ups that ask for what `that` and `it` say."""
    return crossed(SAMPLE_AGAIN, ("", "", "and", "now"), TEXTS.ASKS, again(that)) + crossed(
        SAMPLE_AGAIN, TEXTS.GETS, again(it)
    )


WHERE = looked_up(TEXTS.WHERE_THAT, TEXTS.WHERE_IT)
TAKES = looked_up(TEXTS.TAKES_THAT, TEXTS.TAKES_IT)
USES = looked_up(TEXTS.USES_THAT, TEXTS.USES_IT)
TESTS = looked_up(TEXTS.TESTS_THAT, TEXTS.TESTS_IT)
OUTLINE = looked_up(TEXTS.OUTLINE_THAT, TEXTS.OUTLINE_IT)
RENAME = crossed(2 * SAMPLE, TEXTS.DO, TEXTS.RENAME_DO, ENDS)
DOCSTRING = crossed(SAMPLE + 25, TEXTS.DO, TEXTS.DOCSTRING_DO, ENDS) + crossed(SAMPLE, TEXTS.DO, TEXTS.DOCSTRING_SAY)

AGAIN_WHERE = looked_up_again(TEXTS.WHERE_THAT, TEXTS.WHERE_IT)
AGAIN_TAKES = looked_up_again(TEXTS.TAKES_THAT, TEXTS.TAKES_IT)
AGAIN_USES = looked_up_again(TEXTS.USES_THAT, TEXTS.USES_IT)
AGAIN_TESTS = looked_up_again(TEXTS.TESTS_THAT, TEXTS.TESTS_IT)
AGAIN_RENAME = crossed(2 * SAMPLE_AGAIN, TEXTS.DO, again(TEXTS.RENAME_DO), ENDS)
AGAIN_DOCSTRING = crossed(SAMPLE_AGAIN, TEXTS.DO, again(TEXTS.DOCSTRING_DO), ENDS) + crossed(
    SAMPLE_AGAIN, TEXTS.DO, again(TEXTS.DOCSTRING_SAY)
)
