"""Chats to train on: cached results of the app's real tools, renamed and moved so that none is learned by heart.

Deals in text and per-token weights; `collect.py` made the results, `answers.py` knows what is right. A chat is the
text after the system header: user turn, call, result, answer, and perhaps more turns.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from pathlib import Path

from answers import ANSWER, LINE, Span, copied, matches
from chatter import TALK, declined
from questions import TALK_ANSWERS, TOOL, TRAINED, Skill
from tokenizer import ASSISTANT, END_ASSISTANT, END_THINK, END_TOOL_CALL, EOS_ID, TOOL_CALL
from tokenizers import Tokenizer

GENERATION_PROMPT = f"{ASSISTANT}\n{END_THINK}"
FIXED, FIRST, COPY, FIRST_COPY = 0.25, 4.0, 1.0, 5.0
DECISION = 12.0
"""Loss weights: fixed wording, the first token of a fixed piece (a decision), copied text, where a copy begins,
and the first token of an answer, on which the rest of it hangs."""

SKILL_SHARES = {Skill.WHERE: 24, Skill.TAKES: 20, Skill.USES: 22, Skill.OUTLINE: 18, Skill.TALK: 15}
MISSING_SHARE = 0.16  # of look-ups, ask for a name that is not there
RENAME_SHARE, MOVE_SHARE, SHORTEN_SHARE = 0.6, 0.5, 0.7
DENSE_SHARE = 0.08  # rows of bare look-ups: many retrievals per token
CHANGED = re.compile(r"(?<=:)\d+(?=: )")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Result:
    """One cached tool call: what was asked of which tool, and what it printed."""

    tool: str
    pattern: str
    result: str


@dataclass(slots=True)
class Chat:
    """Text so far, and the weighted character ranges in it."""

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


def load_results(folder: Path, names: set[str]) -> list[Result]:
    """Every cached result of the named repositories."""
    results = []
    for name in sorted(names):
        results += [Result(**entry) for entry in json.loads((folder / f"{name}.json").read_text())]
    return results


class Names:
    """Random identifiers, paths and questions' surroundings, from words of the training corpus."""

    def __init__(self, rng: random.Random, words: list[str]) -> None:
        self.rng, self.words = rng, words

    def word(self) -> str:
        """A word of code, sometimes with a tail, sometimes just letters."""
        chance = self.rng.random()
        if chance < 0.75:
            return self.rng.choice(self.words)
        if chance < 0.85:
            return self.rng.choice(self.words) + self.rng.choice(["s", "er", "ed", str(self.rng.randrange(100))])
        return "".join(self.rng.choice(LETTERS) for _ in range(self.rng.randint(2, 7)))

    def identifier(self, like: str) -> str:
        """A new name in the style of another: class-like, private or plain."""
        words = [self.word() for _ in range(self.rng.choices([1, 2, 3, 4], [3, 5, 3, 1])[0])]
        if like.lstrip("_")[:1].isupper():
            return "".join(word.capitalize() for word in words)
        return ("_" if like.startswith("_") else "") + "_".join(words)

    def file(self) -> str:
        """A file stem."""
        return self.rng.choice([self.word(), self.word() + "_" + self.word(), "_" + self.word()])


class Generator:
    """An endless, seeded source of chats."""

    def __init__(self, seed: int, results: list[Result], words: list[str]) -> None:
        self.rng = random.Random(seed)
        self.names = Names(self.rng, words)
        self.searches = [r for r in results if r.tool == "search"]
        self.finds = [r for r in results if r.tool == "find"]
        self.declined = declined()

    def renamed(self, result: Result) -> Result:
        """The same result for another name, in other folders, on other lines."""
        rng, pattern, text = self.rng, result.pattern, result.result
        if rng.random() < SHORTEN_SHARE:
            text = self.shortened(pattern, text)
        if result.tool == "search" and rng.random() < RENAME_SHARE and len(pattern) > 3:
            new = self.names.identifier(pattern)
            text, pattern = text.replace(pattern, new), new
        if rng.random() < MOVE_SHARE:
            text, pattern = self.moved(result.tool, text, pattern)
        if rng.random() < MOVE_SHARE:
            top = rng.choice([90, 400, 1500, 4000])
            text = CHANGED.sub(lambda _: str(rng.randint(1, top)), text)
        return Result(result.tool, pattern, text)

    def shortened(self, pattern: str, text: str) -> str:
        """The definitions and a few of the other lines: the result of a smaller repository, and more chats a second."""
        lines = text.splitlines()
        wanted = self.rng.choices([1, 2, 3, 4, 5, 7], [3, 4, 4, 4, 3, 2])[0]
        if len(lines) <= wanted or not LINE.match(lines[0]):
            return text
        first = [line for line in lines if line.startswith(pattern + " ")][:2]
        rest = [line for line in lines if LINE.match(line) and line not in first]
        kept = set(first) | set(self.rng.sample(rest, max(0, min(len(rest), wanted - len(first)))))
        return "\n".join(line for line in lines if line in kept)

    def moved(self, tool: str, text: str, pattern: str) -> tuple[str, str]:
        """Rename the parts of every path in a result, the same part always to the same new one."""
        paths = {m[2] if m else line for line in text.splitlines() for m in [re.match(r"(\S+) (\S+):\d+: ", line)]}
        parts = {part for path in paths if path.endswith(".py") for part in path[:-3].split("/")}
        parts = {part for part in parts if len(part) > 2 and part != "__init__" and self.rng.random() < 0.8}
        new = {part: self.names.file() for part in sorted(parts)}
        if not new:
            return text, pattern
        either = re.compile(r"(?<![\w])(" + "|".join(map(re.escape, sorted(new, key=len, reverse=True))) + r")(?=[/.])")

        def change(path: str) -> str:
            return either.sub(lambda m: new[m[1]], path)

        lines = []
        for line in text.splitlines():
            m = re.match(r"(\S+ )(\S+)(:\d+: .*)", line)
            lines.append(m[1] + change(m[2]) + m[3] if m else change(line))
        return "\n".join(lines), change(pattern) if tool == "find" else pattern

    def short(self, pool: list[Result]) -> Result:
        """A random result, the shorter of two half of the time: long ones cost much and teach little more."""
        picked = self.rng.choices(pool, k=self.rng.choice([1, 2]))
        return min(picked, key=lambda result: len(result.result))

    def lookup(self, skill: Skill) -> Result:
        """A result for a skill, or a miss."""
        pool = self.finds if skill is Skill.OUTLINE else self.searches
        result = self.renamed(self.short(pool))
        if self.rng.random() < MISSING_SHARE:
            name = self.names.identifier(result.pattern) if self.rng.random() < 0.6 else result.pattern
            if skill is Skill.OUTLINE:
                name = self.rng.choice(["", self.names.word() + "/"]) + self.names.file() + ".py"
            return Result(result.tool, name, MISSING[result.tool].format(name))
        return result

    def question(self, wording: str, name: str) -> str:
        """A wording about a name, quoted the ways people quote."""
        rng = self.rng
        plain = name.endswith(".py") or rng.random() < 0.85
        ways = (
            [f"`{name}`", f"`{name}`", name]
            if plain
            else [f"`{name}()`", f"{name}()", f"the function {name}", f"'{name}'"]
        )
        if not plain and name[:1].isupper():
            ways = [f"the class {name}", f"the class `{name}`"]
        return wording.replace("{n}", rng.choice(ways)).replace("{f}", rng.choice(ways))

    def first_line(self) -> str:
        """The app's line about the folder before the first question."""
        rng = self.rng
        date = f"{rng.randint(2025, 2028)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        branch = rng.choice(["main", "main", "master", f"{self.names.word()}-{self.names.word()}"])
        git = (
            f" · git {branch}, {rng.choice([0, 0, 1, 2, 3, 7, rng.randint(4, 60)])} changed"
            if rng.random() < 0.7
            else ""
        )
        return f"[folder {self.names.file()} · {date}{git}]\n\n"

    def talk(self) -> tuple[str, str]:
        """A question that is no look-up, and what to say."""
        kind = self.rng.choices(list(TALK), [1, 1, 1, 1, 1, 5])[0]
        wording = self.rng.choice(self.declined if kind == "other" and self.rng.random() < 0.6 else TALK[kind])
        while "{n}" in wording or "{f}" in wording:
            name, file = self.rng.choice(self.searches).pattern, self.rng.choice(self.finds).pattern
            tick = self.rng.choice(["`", ""])
            wording = wording.replace("{n}", tick + name + tick, 1).replace("{f}", tick + file + tick, 1)
        return wording, TALK_ANSWERS[kind]

    def turn(self, chat: Chat, *, first: bool) -> None:
        """One question and everything up to the end of its answer."""
        skill = self.rng.choices(list(SKILL_SHARES), list(SKILL_SHARES.values()))[0]
        opening = self.first_line() if first else ""
        if skill is Skill.TALK:
            question, answer = self.talk()
            chat.plain(f"<user>\n{opening}{question}\n</user>\n{GENERATION_PROMPT}")
            say_answer(chat, [Span(answer)])
            return
        found = self.lookup(skill)
        question = self.question(self.rng.choice(TRAINED[skill]), found.pattern)
        chat.plain(f"<user>\n{opening}{question}\n</user>\n{GENERATION_PROMPT}")
        say_call(chat, TOOL[skill], found.pattern)
        chat.plain(f"\n<tool_response>\n{found.result}\n</tool_response>\n{GENERATION_PROMPT}")
        say_answer(chat, ANSWER[skill](found.pattern, found.result))

    def dense(self) -> Chat:
        """A result and many retrievals from it, as practice for finding a line by its symbol."""
        chat = Chat()
        lines = []
        for _ in range(self.rng.randint(3, 8)):
            found = matches(self.renamed(self.rng.choice(self.searches)).result)[:3]
            lines += self.rng.sample(found, min(len(found), 1))
        self.rng.shuffle(lines)
        shown = "\n".join(f"{m.symbol} {m.place}: {m.code}" for m in lines)
        chat.plain(f"\n<tool_response>\n{shown}\n</tool_response>\n{GENERATION_PROMPT}")
        symbols = [m for m in lines if [n.symbol for n in lines].count(m.symbol) == 1 and m.symbol != "-"]
        for m in self.rng.sample(symbols, min(len(symbols), 6)):
            chat.plain(f"\nUsed here: `{m.symbol}")
            chat.say(copied(f" {m.place}"))
            chat.plain("`.")
        return chat

    def chat(self, turns: int) -> Chat:
        """A chat of some turns, or now and then a dense row."""
        if self.rng.random() < DENSE_SHARE:
            return self.dense()
        chat = Chat()
        for index in range(turns):
            self.turn(chat, first=index == 0)
        return chat


MISSING = {"search": "no matches for {}", "find": "no files match {}"}


def say_call(chat: Chat, tool: str, pattern: str) -> None:
    """The tool call, in the exact form that the app parses."""
    chat.say(Span("\n"))
    chat.say(Span(TOOL_CALL))
    chat.say(Span(tool))
    chat.say(Span("\n<arg_key>pattern</arg_key>\n<arg_value>"))
    chat.say(copied(pattern))
    chat.say(Span(f"</arg_value>\n{END_TOOL_CALL}\n{END_ASSISTANT}"))


def say_answer(chat: Chat, spans: list[Span]) -> None:
    """The answer, its end, and the line break that the app adds."""
    chat.say(Span("\n"))
    chat.say(spans[0], DECISION)
    for span in spans[1:]:
        chat.say(span)
    chat.say(Span(f"\n{END_ASSISTANT}"))
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
