"""Chats to train on: questions, calls, results of the app's tools and the right answers.

Deals in text and per-token weights; `results.py` makes the results, `answers.py` knows what is right. A chat is the
text after the system header: user turn, call, result, answer, and perhaps more turns.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import framed
from answers import LISTS, Edit, Span, copied, documenting, edited, looking, renaming, whole
from chatter import TALK, decline
from questions import AGAIN, HELD_OUT_BARE, TALK_ANSWERS, TOOL, TRAINED, Skill
from results import Found, Source, mistyped
from spoken import spoken
from tokenizer import ASSISTANT, END_ASSISTANT, END_THINK, END_TOOL_CALL, EOS_ID, TOOL_CALL
from tokenizers import Tokenizer
from wording import bare

GENERATION_PROMPT = f"{ASSISTANT}\n{END_THINK}"
FIXED, FIRST, COPY, FIRST_COPY = 0.25, 4.0, 1.0, 4.0
DECISION = 10.0
"""Loss weights: fixed wording, the first token of a fixed piece (a decision), copied text, where a piece of it begins,
and the first token of a reply, on which the rest of it hangs."""

SKILL_SHARES = {
    Skill.WHERE: 14, Skill.TAKES: 13, Skill.USES: 13, Skill.TESTS: 13, Skill.OUTLINE: 15, Skill.RENAME: 24,
    Skill.DOCSTRING: 17, Skill.TALK: 32,
}  # fmt: skip
AGAIN_SHARE = 0.45  # of later turns, ask about the same name by a pronoun
DOTTED_SHARE = 0.05  # of names are asked for as `Class.method`
STRANGE_SHARE = 0.2  # of questions have one or two words that do not belong there: not all that is unknown is a name
FRAMED = {
    Skill.WHERE: 0.25, Skill.TAKES: 0.25, Skill.USES: 0.3, Skill.TESTS: 0.3, Skill.OUTLINE: 0.25, Skill.RENAME: 0.5,
    Skill.DOCSTRING: 0.25,
}  # fmt: skip
"""Shares of questions that are put together from parts."""
BEYOND_SHARE = 0.12  # of requests beyond this model are so, too
TYPO_SHARE = 0.18  # of questions have a typing error in one of their words
FAILED_SHARE = 0.2  # of edits are refused
CALL_ONLY_SHARE = 0.5  # of chats end with the first call: what to call is harder to learn than what to say then
QUOTES = ('"{}"', "'{}'", '"{}"')


@dataclass(slots=True)
class Chat:
    """Text so far, and the weighted character ranges in it; `calls_only` ends it with the first call."""

    calls_only: bool = False
    text: str = ""
    ranges: list[tuple[int, int, float, float]] = field(default_factory=list)

    def plain(self, text: str) -> None:
        """Text that the model reads and never writes."""
        self.text += text

    def say(self, span: Span, decision: float = 0.0) -> None:
        """Text that the model writes; `decision` outweighs the usual weight of its first token."""
        first, rest = (FIRST_COPY, COPY) if span.copied else (FIRST, FIXED)
        first = decision or first
        self.ranges.append((len(self.text), len(self.text) + len(span.text), first, rest))
        self.text += span.text


class Generator:
    """An endless, seeded source of chats."""

    def __init__(self, seed: int, entries: Sequence[dict[str, str]], words: Sequence[str]) -> None:
        self.rng = random.Random(seed)
        self.source = Source(self.rng, entries, words)
        self.names = self.source.names
        self.dates = [f"{y}-{m:02}-{d:02}" for y in range(2025, 2029) for m in range(1, 13) for d in range(1, 29)]

    def quoted(self, name: str) -> str:
        """A name the ways people write names."""
        rng = self.rng
        if rng.random() < 0.85:
            return rng.choice([f"`{name}`", f"`{name}`", name])
        if name.rpartition(".")[2][:1].isupper():
            return rng.choice([f"the class {name}", f"the class `{name}`", f"'{name}'"])
        return rng.choice([f"`{name}()`", f"{name}()", f"the function {name}", f"'{name}'"])

    def filled(self, wording: str, **values: str) -> str:
        """The wording with its places filled; files and new names are quoted like the name or not at all."""
        tick = self.rng.choice(["`", ""])
        text = wording
        for place, value in values.items():
            shown = self.quoted(value) if place == "n" and "m" not in values else tick + value + tick
            shown = self.rng.choice(QUOTES).format(value) if place == "t" else shown
            text = text.replace("{" + place + "}", shown)
        return text

    def roughened(self, wording: str) -> str:
        """The wording with strange words in it or one misspelled, now and then; names are as they are in code."""
        words = wording.split(" ")
        if self.rng.random() < STRANGE_SHARE:
            for _ in range(self.rng.choice([1, 1, 2])):
                words.insert(self.rng.randrange(len(words)), self.rng.choice(self.names.words))
        wording = " ".join(words)
        return mistyped(self.rng, wording) if self.rng.random() < TYPO_SHARE else wording

    def wording(self, skill: Skill, *, again: bool) -> str:
        """A wording for the skill, as people type it."""
        while bare(chosen := self.chosen(skill, again=again)) in HELD_OUT_BARE:
            pass
        return self.roughened(spoken(self.rng, chosen))

    def chosen(self, skill: Skill, *, again: bool) -> str:
        """A wording from the tables, or put together from parts."""
        if again or self.rng.random() > FRAMED[skill]:
            return self.rng.choice((AGAIN if again else TRAINED)[skill])
        if skill is Skill.RENAME:
            return framed.rename(self.rng)
        return framed.lookup(self.rng, skill.name.lower())

    def first_line(self) -> str:
        """The app's line about the folder before the first question."""
        rng = self.rng
        branch = rng.choice(["main", "main", "master", f"{self.names.word()}-{self.names.word()}"])
        changed = rng.choice([0, 0, 1, 2, 3, 7, rng.randint(4, 60)])
        git = f" · git {branch}, {changed} changed" if rng.random() < 0.7 else ""
        return f"[folder {self.names.file()} · {rng.choice(self.dates)}{git}]\n\n"

    def talk(self) -> tuple[str, str]:
        """A question that is no look-up, and what to say."""
        kind = self.rng.choices(list(TALK), [1, 1, 1, 1, 1, 9])[0]
        if kind == "other":
            wording = framed.beyond(self.rng) if self.rng.random() < BEYOND_SHARE else decline(self.rng)
        else:
            wording = spoken(self.rng, self.rng.choice(TALK[kind]))
        wording = self.roughened(wording)
        for place in ("{n}", "{m}", "{f}"):
            while place in wording:
                tick = self.rng.choice(["`", ""])
                file = tick + self.source.asked(self.source.path()) + tick
                wording = wording.replace(place, file if place == "{f}" else self.quoted(self.name()), 1)
        return wording, TALK_ANSWERS[kind]

    def name(self) -> str:
        """A name of the corpus or a new one."""
        name = self.rng.choice(self.source.definitions)[0]
        return self.names.identifier(name) if self.rng.random() < 0.5 else name

    def sentence(self) -> str:
        """A line of documentation."""
        words = " ".join(self.names.word() for _ in range(self.rng.randint(2, 7)))
        return words.capitalize() + self.rng.choice([".", ".", ""])

    def turn(self, chat: Chat, before: str, *, first: bool) -> str:
        """One question and everything up to the end of its answer; returns the name that a follow-up may be about."""
        skill = self.rng.choices(list(SKILL_SHARES), list(SKILL_SHARES.values()))[0]
        again = bool(before) and skill in AGAIN and self.rng.random() < AGAIN_SHARE
        opening = self.first_line() if first else ""
        if skill is Skill.TALK:
            question, said = self.talk()
            chat.plain(f"<user>\n{opening}{question}\n</user>\n{GENERATION_PROMPT}")
            say_answer(chat, [Span(said)])
            return before
        wording = self.wording(skill, again=again)
        if skill is Skill.RENAME:
            return self.rename(chat, opening, wording, before if again else "")
        if skill is Skill.OUTLINE:
            found = self.source.find()
            self.look_up(chat, skill, opening + self.filled(wording, f=found.pattern), found)
            return ""
        name = before if again else ""
        if not again and self.rng.random() < DOTTED_SHARE:
            name = f"{self.names.identifier('X')}.{self.names.identifier('x')}"
        found = self.source.search(LISTS[skill].capitalize(), name)
        given = self.sentence() if "{t}" in wording else ""
        question = opening + self.filled(wording, n=found.pattern, t=given)
        edit = documenting(found.pattern, found.result, given) if skill is Skill.DOCSTRING else None
        self.look_up(chat, skill, question, found, edit)
        return found.pattern

    def look_up(self, chat: Chat, skill: Skill, question: str, found: Found, edit: Edit | None = None) -> None:
        """A question, its call, the result, and the answer or the edit that follows."""
        chat.plain(f"<user>\n{question}\n</user>\n{GENERATION_PROMPT}")
        say_call(chat, TOOL[skill], **{name: whole(value) for name, value in looking(skill, found.pattern).items()})
        if chat.calls_only:
            return
        chat.plain(f"\n<tool_response>\n{found.result}\n</tool_response>\n{GENERATION_PROMPT}")
        if edit is None:
            say_answer(chat, copied(found.result))
        else:
            self.edit(chat, edit, edit.path)

    def edit(self, chat: Chat, edit: Edit, path: str) -> None:
        """The call of an edit, how it went, and the answer; `path` is that of the file that was meant."""
        say_edit(chat, edit)
        if chat.calls_only:
            return
        result = f"error: {self.failure(edit)}" if self.rng.random() < FAILED_SHARE else self.success(path, edit)
        chat.plain(f"\n<tool_response>\n{result}\n</tool_response>\n{GENERATION_PROMPT}")
        say_answer(chat, edited(result))

    def success(self, path: str, edit: Edit) -> str:
        number = self.rng.choice([1, 1, 2, 3, 4, 7, self.rng.randint(2, 60)]) if edit.all else 1
        return f"Changed `{path}` in {number} place{'s' * (number > 1)}."

    def failure(self, edit: Edit) -> str:
        """A sentence like those that the app refuses an edit with."""
        chosen = self.rng.choice(FAILURES)
        number, one, two = (self.rng.randint(2, top) for top in (40, 300, 900))
        return chosen.format(path=edit.path, other=self.source.path(), number=number, one=one, two=two)

    def rename(self, chat: Chat, opening: str, wording: str, before: str) -> str:
        """Rename or replace in a file; mostly names, sometimes other short code."""
        rng, path = self.rng, self.source.path()
        old = before or self.name()
        new = self.names.identifier(old)
        if not before and rng.random() < 0.1:
            old, new = (f"{old}{sign}{value}" for sign, value in ((rng.choice("=."), self.names.word()),) * 2)
            new = new.rpartition("=")[0] + "=" + self.names.word() if "=" in new else self.names.identifier("x")
        asked = self.source.asked(path)
        chat.plain(f"<user>\n{opening}{self.filled(wording, n=old, m=new, f=asked)}\n</user>\n{GENERATION_PROMPT}")
        self.edit(chat, renaming(asked, old, new), path)
        return new if re.fullmatch(r"\w+", new) else ""

    def chat(self, turns: int) -> Chat:
        """A chat of some turns."""
        chat, before = Chat(calls_only=self.rng.random() < CALL_ONLY_SHARE), ""
        for index in range(1 if chat.calls_only else turns):
            before = self.turn(chat, before, first=index == 0)
        return chat


FAILURES = (
    "the user declined this edit; ask what to do instead",
    "the user declined this edit; ask what to do instead",
    "edits are not allowed here; say what you would change instead",
    "nobody can be asked about edits here; tell the user that --edits allow would make them",
    "there is no file {path} to edit; the nearest is {other}",
    "there is no file {path} to edit; use find to see which files there are",
    "{path} could be {other} or {path}; call again with one of these paths",
    "the old text is not in {path}; read the file and call again with text as it stands",
    "the old text is {number} times in {path} (lines {one}, {two});"
    " call again with more of the lines around it, or with all",
    "{path} changed since the edit was proposed; read it and call again",
    "{path} is read-only; it has to be made writable first",
    "old and new are the same, so nothing would change; call again with another new text",
    "{path} is a binary file; only text can be edited",
)
"""Sentences like those of the app; they only have to be repeated."""


def say_call(chat: Chat, tool: str, **arguments: list[Span]) -> None:
    """The tool call, in the exact form that the app parses."""
    chat.say(Span("\n"))
    chat.say(Span(TOOL_CALL), DECISION)
    chat.say(Span(tool), DECISION)
    for name, spans in arguments.items():
        chat.say(Span("\n"))
        chat.say(Span(f"<arg_key>{name}</arg_key>\n<arg_value>"))
        for span in spans:
            chat.say(span, DECISION if name in ("list", "all") else 0.0)
        chat.say(Span("</arg_value>"))
    chat.say(Span("\n"))
    chat.say(Span(f"{END_TOOL_CALL}\n{END_ASSISTANT}"))


def say_edit(chat: Chat, edit: Edit) -> None:
    """The call of an edit."""
    extra = {"all": [Span("true")]} if edit.all else {}
    added = "" if edit.all else edit.new.removeprefix(edit.old)
    new = [*whole(edit.old), *pieces(added)] if added else whole(edit.new)
    say_call(chat, "edit", path=whole(edit.path), old=whole(edit.old), new=new, **extra)


def pieces(docstring: str) -> list[Span]:
    """What a docstring adds to a definition's line: quotes, and the text between them."""
    before, text, after = re.fullmatch(r'(\s+""")(.*)(""")', docstring, re.S).groups()
    lead = "TODO: describe "
    if text.startswith(lead):
        return [Span(before), Span(lead), *whole(text[len(lead) : -1]), Span("." + after)]
    return [Span(before), *whole(text), Span(after)]


def say_answer(chat: Chat, spans: list[Span]) -> None:
    """The answer, its end, and the line break that the app adds."""
    chat.say(Span("\n"))
    chat.say(spans[0], DECISION)
    for span in spans[1:]:
        chat.say(span)
    chat.say(Span("\n"))
    chat.say(Span(END_ASSISTANT))
    chat.plain("\n")


def encode(tokenizer: Tokenizer, chat: Chat) -> tuple[list[int], list[float]]:
    """Token ids and the weight of predicting each of them (0 for what the model only reads)."""
    encoding = tokenizer.encode(chat.text)
    weights = [0.0] * len(encoding.ids)
    ranges = iter(chat.ranges)
    start, end, first, rest = next(ranges, (1 << 30, 0, 0.0, 0.0))
    fresh = True
    for index, (begin, _) in enumerate(encoding.offsets):
        while begin >= end and end:
            start, end, first, rest = next(ranges, (1 << 30, 0, 0.0, 0.0))
            fresh = True
        if begin >= start:
            weights[index] = first if fresh else rest
            fresh = False
    return encoding.ids, weights


def header_ids(tokenizer: Tokenizer, header: str) -> list[int]:
    """The system block that opens every chat, after the one EOS token."""
    return [EOS_ID, *tokenizer.encode(header).ids]
