"""What Laguna Nano is asked and says: question wordings per skill, the call each needs, and small talk.

Deals in plain text. Wordings in HELD_OUT and AGAIN_HELD_OUT are never trained on; evaluation asks only those. `{n}`
stands for a name, `{m}` for a new name, `{f}` for a file and `{t}` for a text in quotes; in a follow-up, `it` is the
name that the question before was about.
"""

from __future__ import annotations

from enum import Enum

import wordings_asked as asked
from wording import bare, tables

lookups, edits, again, held_out = map(tables, ("lookups", "edits", "again", "held_out"))


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
    Skill.WHERE: lookups.WHERE + asked.WHERE,
    Skill.TAKES: lookups.TAKES + asked.TAKES,
    Skill.USES: lookups.USES + asked.USES,
    Skill.TESTS: lookups.TESTS + asked.TESTS,
    Skill.OUTLINE: lookups.OUTLINE + asked.OUTLINE,
    Skill.RENAME: edits.RENAME + asked.RENAME,
    Skill.DOCSTRING: edits.DOCSTRING + asked.DOCSTRING,
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
    Skill.WHERE: again.WHERE + asked.AGAIN_WHERE,
    Skill.TAKES: again.TAKES + asked.AGAIN_TAKES,
    Skill.USES: again.USES + asked.AGAIN_USES,
    Skill.TESTS: again.TESTS + asked.AGAIN_TESTS,
    Skill.DOCSTRING: again.DOCSTRING + asked.AGAIN_DOCSTRING,
    Skill.RENAME: again.RENAME + asked.AGAIN_RENAME,
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
HELD_OUT_BARE = frozenset(
    bare(wording) for table in (HELD_OUT, AGAIN_HELD_OUT) for texts in table.values() for wording in texts
)

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

    questions = [text for texts in TRAINED.values() for text in texts]
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
    return "\n".join([*questions, *talk, *said, markup])
