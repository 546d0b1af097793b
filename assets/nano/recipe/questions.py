"""What Laguna Nano is asked and says: question wordings per skill, the call each needs, and small talk.

Deals in plain text. Wordings in HELD_OUT and AGAIN_HELD_OUT are never trained on; evaluation asks only those. `{n}`
stands for a name, `{m}` for a new name, `{f}` for a file and `{t}` for a text in quotes; in a follow-up, `it` is the
name that the question before was about.
"""

from __future__ import annotations

import random
from enum import Enum

import wordings_again as again
import wordings_edits as edits
import wordings_held_out as held_out
import wordings_lookups as lookups


class Skill(Enum):
    """The few things this model can do."""

    WHERE = "where is X defined"
    TAKES = "what does f take"
    USES = "who calls g"
    TESTS = "which tests cover X"
    OUTLINE = "what is in file F"
    RENAME = "rename X to Y in F"
    DOCSTRING = "add a docstring to f"
    TALK = "small talk and the rest"


TOOL = {
    Skill.WHERE: "search", Skill.TAKES: "search", Skill.USES: "search", Skill.TESTS: "search",
    Skill.OUTLINE: "find", Skill.RENAME: "edit", Skill.DOCSTRING: "search",
}  # fmt: skip
"""The first call that each skill needs."""

TRAINED = {
    Skill.WHERE: lookups.WHERE,
    Skill.TAKES: lookups.TAKES,
    Skill.USES: lookups.USES,
    Skill.TESTS: lookups.TESTS,
    Skill.OUTLINE: lookups.OUTLINE,
    Skill.RENAME: edits.RENAME,
    Skill.DOCSTRING: edits.DOCSTRING,
}
HELD_OUT = {
    Skill.WHERE: held_out.WHERE,
    Skill.TAKES: held_out.TAKES,
    Skill.USES: held_out.USES,
    Skill.TESTS: held_out.TESTS,
    Skill.OUTLINE: held_out.OUTLINE,
    Skill.RENAME: held_out.RENAME,
    Skill.DOCSTRING: held_out.DOCSTRING,
}
AGAIN = {
    Skill.WHERE: again.WHERE,
    Skill.TAKES: again.TAKES,
    Skill.USES: again.USES,
    Skill.TESTS: again.TESTS,
    Skill.DOCSTRING: again.DOCSTRING,
    Skill.RENAME: again.RENAME,
}
"""Trained follow-ups: `it` is what the question before was about."""
AGAIN_HELD_OUT = {
    Skill.WHERE: held_out.AGAIN_WHERE,
    Skill.TAKES: held_out.AGAIN_TAKES,
    Skill.USES: held_out.AGAIN_USES,
    Skill.TESTS: held_out.AGAIN_TESTS,
    Skill.DOCSTRING: held_out.AGAIN_DOCSTRING,
    Skill.RENAME: held_out.AGAIN_RENAME,
}

OPENINGS = (
    "Hey, ", "Hi, ", "hello, ", "ok, ", "Ok, so ", "so ", "Also, ", "next: ", "and ", "One more: ", "quick question: ",
)  # fmt: skip
OPENED = ("and ", "ok", "so ", "hi", "hey", "hello", "now ", "then ")
CLOSINGS = (" please", ", please", ", thanks", " pls", " thx")
OPENING_SHARE, CLOSING_SHARE, CASE_SHARE, STOP_SHARE = 0.12, 0.1, 0.25, 0.3


def spoken(rng: random.Random, wording: str) -> str:
    """A trained wording as people type it: now and then with a word before or after, other case, no punctuation.

    For wordings before their places are filled, so that names stay as they are.
    """
    if rng.random() < STOP_SHARE:
        wording = wording.rstrip("?.!") + rng.choice(["", "", "?" if wording.endswith("?") else ""])
    if rng.random() < CASE_SHARE and not wording.startswith(("{", "I ", "I'")):
        wording = wording[0].swapcase() + wording[1:]
    if len(wording.split()) < 3 or wording.startswith("{"):
        return wording
    if rng.random() < OPENING_SHARE and not wording.lower().startswith(OPENED):
        first = wording[0] if wording.startswith(("I ", "I'")) else wording[0].lower()
        wording = rng.choice(OPENINGS) + first + wording[1:]
    if rng.random() < CLOSING_SHARE and "please" not in wording.lower():
        wording = wording.rstrip("?.!") + rng.choice(CLOSINGS) + wording[len(wording.rstrip("?.!")) :]
    return wording


ABOUT = "I am Laguna Nano, the tiny demo model that ships with this app."
REAL_WORK = "For real work, press F8 to download Laguna itself."
TALK_ANSWERS = {
    "hello": f"Hello! {ABOUT} Ask me where something is defined.",
    "who": f"{ABOUT} I can look things up in code and make small edits. {REAL_WORK}",
    "can": (
        "I can find definitions, signatures, callers and tests, outline a file, rename a name in a file, "
        f"and add a docstring. {REAL_WORK}"
    ),
    "thanks": "You are welcome.",
    "bye": "Goodbye!",
    "other": f"That is beyond me: I am only the tiny demo model that ships with this app. {REAL_WORK}",
}


def all_prose() -> str:
    """Every sentence of this file once, for the tokenizer's merges."""
    from chatter import TALK

    asked = [text for table in (TRAINED, HELD_OUT) for texts in table.values() for text in texts]
    talk = [text for texts in TALK.values() for text in texts]
    said = [
        *TALK_ANSWERS.values(),
        "` is defined in `",
        "` takes `",
        "` is used in `",
        "I found no `",
        "` at `",
        "` here.",
    ]
    markup = "<tool_response>\n</tool_response>\n<arg_key>pattern</arg_key>\n<arg_value></arg_value>\n<user>\n</user>\n"
    return "\n".join([*asked, *talk, *said, markup])
