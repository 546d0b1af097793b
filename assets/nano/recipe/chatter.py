"""Everything that is no skill: greetings, questions about the model, and the work it must decline.

Deals in plain text with places to fill (`wording.py`). `decline` draws from lists crossed with each other, which hold
far more requests than could be listed; TALK_HELD_OUT is never trained on.
"""

from __future__ import annotations

from random import Random

from chatter_work import CROSSED
from spoken import spoken
from wording import tables

small, other, held_out = (tables(f"chatter_{name}") for name in ("small", "other", "held_out"))

TALK = {
    "hello": small.HELLO,
    "who": small.WHO,
    "can": small.CAN,
    "thanks": small.THANKS,
    "bye": small.BYE,
    "other": (
        *other.NAMED, *other.PLAIN, *other.WORDS, *other.FOREIGN, *other.DEMANDS, *other.RAMBLING,
    ),
}  # fmt: skip
TALK_HELD_OUT = {
    "hello": held_out.HELLO,
    "who": held_out.WHO,
    "can": held_out.CAN,
    "thanks": held_out.THANKS,
    "bye": held_out.BYE,
    "other": held_out.NAMED + held_out.PLAIN + held_out.RAMBLING,
}

SINGLE = (
    (26, other.NAMED), (13, other.PLAIN), (4, other.WORDS), (3, other.FOREIGN), (3, other.DEMANDS), (3, other.RAMBLING),
)  # fmt: skip
CROSSED_SHARE, LONG_SHARE = 0.42, 0.06
JOINTS = (", and ", ". ", ", then ", " and ", ". Also, ", ", but first ", "; ", ", or ")


def crossed(rng: Random) -> str:
    """One request for work or question about code, from parts."""
    parts = rng.choices([parts for _, parts in CROSSED], [share for share, _ in CROSSED])[0]
    said = [rng.choice(part) for part in parts]
    return " ".join(part for part in said if part).replace(" ,", ",")


def picked(rng: Random) -> str:
    """One request that is beyond this model, as it is written in the lists."""
    chance = rng.random()
    if chance < LONG_SHARE:
        pieces = [rng.choice([crossed(rng), rng.choice(other.NAMED).rstrip("?.!")]) for _ in range(rng.randint(2, 3))]
        return pieces[0] + "".join(rng.choice(JOINTS) + piece for piece in pieces[1:])
    if chance < LONG_SHARE + CROSSED_SHARE:
        return crossed(rng)
    return rng.choice(rng.choices([texts for _, texts in SINGLE], [share for share, _ in SINGLE])[0])


def decline(rng: Random) -> str:
    """One request that is beyond this model, as people type it: most are about names or files, a few are long."""
    return spoken(rng, picked(rng))
