"""Wordings put together from parts, more than anybody could list: most of them clumsy, each of them clear.

Deals in plain text with places to fill (`wording.py`). A model this small that has only seen sentences learns the
sentences; from these it learns that the word for what is wanted and the name may stand anywhere.
"""

from __future__ import annotations

from random import Random

from wording import tables

TEXTS = tables("framed")

WORDS_FOR = {
    skill: getattr(TEXTS, f"WORDS_{skill.upper()}")
    for skill in ("where", "takes", "uses", "tests", "outline", "docstring")
}
"""By the name of the skill."""
BESIDE = ("where", "takes", "uses", "outline")
"""Skills whose words may stand beside one of them and change nothing."""
JOINTS = ("",) * 14 + (",", ",", ",", ":", ":", " -", ";", ".", "...")
ENDS = ("", "", "", "?", ".", "!", "...")

FORWARD = tuple(
    (verb, joint)
    for verb, joints in (
        ("rename", "to|to|into|as|->|=>|→|: to"), ("change", "to|to|into|so that it is"), ("switch", "to|over to"),
        ("turn", "into"), ("replace", "with|by|through"), ("swap", "for|with"), ("swap out", "for"),
        ("substitute", "with|by"), ("convert", "to|into"), ("move from", "to"), ("go from", "to"), ("exchange", "for"),
        ("update", "to"), ("alter", "to|into"), ("modify", "to"), ("transform", "into"), ("rebrand", "as"),
        ("retitle", "as|to"), ("relabel", "as|to"), ("refactor", "to|into"), ("call", "|simply|from now on"),
        ("name", "|instead"), ("dub", ""), ("give", "the name|the new name|another name:"), ("make", "|into|read"),
        ("set the name of", "to"), ("change the name of", "to|into"), ("the name of", "should be|has to be|is now"),
        ("replace the name", "with|by"), ("replace all occurrences of", "with|by"), ("replace every", "with|by"),
        ("correct", "to"), ("spell", "|as"), ("write", "as"), ("respell", "as"), ("adapt", "to"), ("trade", "for"),
        ("refer to", "as"), ("edit", "to be"), ("drop", "in favour of"), ("drop the name", "and use"),
        ("no more", "but"), ("not", "but"), ("instead of", "use|I want|write|take|say|it should be|put"),
        ("from", "to"), ("old name", "new name"), ("old:", "new:"), ("old", "new"), ("", "->"), ("", "=>"),
        ("wherever you find", "put|write|make it|use"), ("whenever there is", "make it|put"),
        ("where it says", "write"),
        ("each", "has to be|should be|becomes"), ("every", "must be|should be called|turns into|shall be"),
        ("any", "is to become|becomes"), ("all", "should be|must become"), ("I do not like", "it should be|make it"),
        ("I never liked", "call it|use"), ("somebody wrote", "but it should be"), ("we agreed that", "will be called"),
        ("", "should be|must be|has to be|ought to be|needs to be|is to be|shall be|might better be"),
        ("", "should be called|must be named|has to be known as|needs to be renamed to|is to be replaced by"),
        ("", "becomes|is now|turns into|shall read|gets the name|goes by|will be|will from now on be|is called"),
        ("", "is wrong, it is|is a bad name, use|is confusing, make it|is too long, take|was renamed to"),
        ("", "should read|should say|wants to be|would be better as|can be|could be|may be called"),
    )
    for joint in joints.split("|")
)  # fmt: skip
"""What stands before the old name, and between it and the new one."""
BACKWARD = tuple(
    (verb, joint)
    for verb, joints in (
        ("use", "instead of|for|in place of|rather than|and not|where it says"), ("put", "in place of|instead of|for"),
        ("write", "instead of|for|in place of|where it says|and no longer"), ("take", "instead of|rather than|for"),
        ("choose", "over|rather than"), ("pick", "over|as the name of"), ("set", "as the name of|in place of"),
        ("adopt", "as the new name of|for"), ("substitute", "for"), ("insert", "in place of"), ("prefer", "to|over"),
        ("I prefer", "to|over|instead of"), ("I would rather have", "than|instead of"),
        ("I want", "instead of|and not"),
        ("I like", "better than|more than"), ("let", "replace|take the place of|stand for"), ("make it", "instead of"),
        ("the name", "is better than|should replace|has to stand for"), ("new name", "old name|for"), ("new:", "old:"),
        ("to", "from"), ("", "replaces|should replace|must replace|is to replace|takes the place of|supersedes"),
        ("", "is the new name of|is the new name for|is what I want to call|will be the name of|should be the name of"),
        ("", "is a better name than|is nicer than|sounds better than|is clearer than|beats|instead of|rather than"),
        ("", "is the right name for|is how we call|<-|and not|, formerly|used to be|was called|was wrongly called"),
    )
    for joint in joints.split("|")
)  # fmt: skip
"""What stands before the new name, and between it and the old one."""
GIVEN_SHARE, BESIDE_SHARE, BACKWARD_SHARE, LEAD_SHARE = 0.25, 0.25, 0.35, 0.3
FILES_BETWEEN = ("in {f}", "in {f}", "of {f}", "from {f}", "inside {f}", "(in {f})", "in file {f}")


def tidy(text: str) -> str:
    """One space between words, none before a comma."""
    text = " ".join(text.split())
    for mark in (",", ";", ".", ":"):
        text = text.replace(" " + mark + " ", mark + " ")
    return text


def scattered(rng: Random, parts: list[str], fillers: int) -> str:
    """The parts and so many fillers in any order."""
    parts = parts + rng.choices(TEXTS.FILLERS, k=fillers)
    rng.shuffle(parts)
    text = " ".join(part + rng.choice(JOINTS) for part in parts[:-1])
    return tidy(f"{text} {parts[-1]}{rng.choice(ENDS)}")


def lookup(rng: Random, skill: str) -> str:
    """Ask for what a skill of WORDS_FOR is about, in any order."""
    words = rng.sample(WORDS_FOR[skill], rng.choice([1, 1, 1, 2]))
    given = ["{t}"] if skill == "docstring" and rng.random() < GIVEN_SHARE else []
    return scattered(rng, ["{f}" if skill == "outline" else "{n}", *words, *given], rng.randint(0, 6))


def beyond(rng: Random) -> str:
    """Ask for what is beyond this model, about names and files; now and then with a skill's word beside it."""
    words = rng.sample(TEXTS.BEYOND, rng.choice([1, 1, 2]))
    beside = [rng.choice(WORDS_FOR[rng.choice(BESIDE)])] if rng.random() < BESIDE_SHARE else []
    return scattered(rng, [rng.choice(["{n}", "{n}", "{f}"]), *words, *beside], rng.randint(0, 6))


def rename(rng: Random) -> str:
    """Ask for a new name in a file: the new name before or after the old one, the file anywhere."""
    if rng.random() < BACKWARD_SHARE:
        (verb, joint), first, second = rng.choice(BACKWARD), "{m}", "{n}"
    else:
        (verb, joint), first, second = rng.choice(FORWARD), "{n}", "{m}"
    lead = rng.choice(TEXTS.RENAME_LEADS) if verb.isalpha() and rng.random() < LEAD_SHARE else ""
    place = rng.random()
    if place < 0.35:
        text = f"{rng.choice(TEXTS.FILES_BEFORE)} {lead} {verb} {first} {joint} {second}"
    elif place < 0.5:
        text = f"{lead} {verb} {first} {rng.choice(FILES_BETWEEN)} {joint} {second}"
    else:
        text = f"{lead} {verb} {first} {joint} {second} {rng.choice(TEXTS.FILES_AFTER)}"
    for _ in range(rng.choice([0, 0, 0, 0, 1, 2])):
        text = f"{rng.choice(TEXTS.FILLERS)} {text}" if rng.random() < 0.6 else f"{text} {rng.choice(TEXTS.FILLERS)}"
    return tidy(text + rng.choice(ENDS))
