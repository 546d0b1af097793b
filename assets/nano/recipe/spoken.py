"""How people type: a word or a sentence before or after what they ask, other case, no punctuation.

What is asked for does not change, and all of it happens to what the model can do and what it cannot alike. For wordings
before their places are filled, so that names stay as they are.
"""

from __future__ import annotations

import random

from wording import tables

TEXTS = tables("spoken")

OPENINGS = (
    "Hey, ", "Hi, ", "hello, ", "ok, ", "Ok, so ", "so ", "Also, ", "next: ", "and ", "One more: ", "quick question: ",
    "well, ", "um, ", "Laguna, ", "> ", "- ", "please: ", "sorry, ", "no, ", "yes, ", "good, ",
)  # fmt: skip
OPENED = ("and ", "ok", "so ", "hi", "hey", "hello", "now ", "then ", "next", "because ")
CLOSINGS = (" please", ", please", ", thanks", " pls", " thx", ", ok?", " :)", "..", "!", " ;", " !!", " asap")
POLITE = ("please", "thank", "asap")
OPENING_SHARE, CLOSING_SHARE, CASE_SHARE, STOP_SHARE, SENTENCE_SHARE = 0.12, 0.1, 0.25, 0.3, 0.06
SHORTEST = 3
"""Words that it takes to get something before or after it."""


def spoken(rng: random.Random, wording: str) -> str:
    """A wording as people type it."""
    if rng.random() < STOP_SHARE:
        wording = without_stop(wording) + rng.choice(["", "", "?" if wording.endswith("?") else ""])
    if rng.random() < CASE_SHARE and not wording.startswith(("{", "I ", "I'")):
        wording = wording[:1].swapcase() + wording[1:]
    if len(wording.split()) < SHORTEST:
        return wording
    if rng.random() < CLOSING_SHARE and not any(word in wording.lower() for word in POLITE):
        bare = without_stop(wording)
        wording = bare + rng.choice(CLOSINGS) + wording[len(bare) :]
    if rng.random() < SENTENCE_SHARE:
        wording += "" if wording.endswith((".", "?", "!")) else rng.choice([".", ".", " -", ","])
        wording += " " + rng.choice(TEXTS.AFTER)
    if rng.random() < SENTENCE_SHARE:
        return rng.choice(TEXTS.BEFORE) + " " + wording
    if rng.random() < OPENING_SHARE and not wording.lower().startswith(OPENED):
        first = wording[0] if wording.startswith(("I ", "I'")) else wording[0].lower()
        return rng.choice(OPENINGS) + first + wording[1:]
    return wording


def without_stop(text: str) -> str:
    """The text without the punctuation at its end."""
    return text.rstrip("?.!")
