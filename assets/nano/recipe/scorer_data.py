"""Piles of texts to train the scorer on, and questions whose answers stand in one of them.

Deals in text: real definitions of one package, made-up needles hidden among them, and questions of eight kinds.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from scorer_questions import ASK_RETURNS, ASK_WHERE, HELD_ASK_RETURNS, HELD_ASK_WHERE, Style, asked, needle, plain
from scorer_text import CONSTANT, RETURN, Package

SHARES = {"exact": 10, "words": 16, "other": 20, "constant": 8, "where": 8, "returns": 6, "call": 14, "doc": 18}
"""How often each kind of question is asked: about a made-up key as written, in plain words and in other words, about
real constants, definitions and results, code around a call whose callee is wanted, and what a docstring says."""
CUT_BEFORE, BARE_NAME = 0.5, 0.5  # of calls, end before the name; of the others, leave it in
ORPHANS = 0.1  # of questions lose their text
ALONE, DECOYS = 0.35, 0.7  # of needles stand in a text of their own; of decoys are there


@dataclass(slots=True)
class Question:
    """Text asked, the text that follows it if the model knows, and which text of the pile holds it (-1: none)."""

    text: str
    answer: str
    gold: int
    glue: str = "\n"  # between the two


@dataclass(slots=True)
class Pile:
    """Texts, and questions about them."""

    texts: list[str]
    questions: list[Question] = field(default_factory=list)


class Asker:
    """Makes piles of one package each, with questions of every kind; `held`: in wordings only measured with."""

    def __init__(self, packages: list[Package], words: list[str], seed: int, *, held: bool = False) -> None:
        self.packages, self.words, self.rng, self.held = packages, words, random.Random(seed), held
        self.weights = [len(package.units) ** 0.5 for package in packages]
        self.where = HELD_ASK_WHERE if held else ASK_WHERE
        self.returns = HELD_ASK_RETURNS if held else ASK_RETURNS

    def pile(self, texts: int, questions: int) -> Pile:
        """A pile of about so many texts and questions."""
        rng = self.rng
        package = rng.choices(self.packages, self.weights)[0]
        chosen = self.some(package, texts)
        kinds = rng.choices(list(SHARES), list(SHARES.values()), k=questions)
        pile = Pile([package.units[index].text for index in chosen])
        asks = [getattr(self, f"ask_{kind}")(package, pile, chosen) for kind in kinds]
        pile.questions = [question for question in asks if question is not None and question.text]
        return self.without_some(pile)

    def some(self, package: Package, count: int) -> list[int]:
        """Half of them from one place, as of one file, the rest from anywhere in the package."""
        start = self.rng.randrange(len(package.units))
        near = list(range(start, min(start + count // 2, len(package.units))))
        far = [self.rng.randrange(len(package.units)) for _ in range(count - len(near))]
        return list(dict.fromkeys(near + far))

    def without_some(self, pile: Pile) -> Pile:
        """The same, but some questions lose their text, and so does whoever else asked about it."""
        lost = {question.gold for question in pile.questions if self.rng.random() < ORPHANS}
        kept = [index for index in range(len(pile.texts)) if index not in lost]
        place = {old: new for new, old in enumerate(kept)}
        moved = [
            replace(q, answer=q.answer if q.gold in place else "", gold=place.get(q.gold, -1)) for q in pile.questions
        ]
        return Pile([pile.texts[index] for index in kept], moved)

    def hide(self, pile: Pile, line: str) -> int:
        """Put a line into a text of the pile, or into a text of its own among others of its look; where it is now."""
        rng = self.rng
        if rng.random() < ALONE:
            pile.texts.append(line + "\n")
            return len(pile.texts) - 1
        index = rng.randrange(len(pile.texts))
        lines = pile.texts[index].split("\n")
        at = rng.randint(1, max(1, len(lines) - 1))
        before = lines[at - 1]
        indent = " " * (len(before) - len(before.lstrip(" ")) + 4 * before.rstrip().endswith(":"))
        pile.texts[index] = "\n".join([*lines[:at], indent + line, *lines[at:]])
        return index

    def ask_needle(self, pile: Pile, style: Style) -> Question:
        """A made-up key somewhere in the pile, with keys beside it that are half the same."""
        made = needle(self.rng, self.words, style, held=self.held)
        for decoy in made.decoys:
            if self.rng.random() < DECOYS:
                self.hide(pile, decoy)
        return Question(made.question, made.value, self.hide(pile, made.line))

    def ask_exact(self, package: Package, pile: Pile, chosen: list[int]) -> Question:
        return self.ask_needle(pile, Style.EXACT)

    def ask_words(self, package: Package, pile: Pile, chosen: list[int]) -> Question:
        return self.ask_needle(pile, Style.WORDS)

    def ask_other(self, package: Package, pile: Pile, chosen: list[int]) -> Question:
        return self.ask_needle(pile, Style.OTHER)

    def ask_new(self, package: Package, pile: Pile, chosen: list[int]) -> Question:
        return self.ask_needle(pile, Style.NEW)

    def add(self, package: Package, pile: Pile, unit: int, text: str) -> int:
        """One more text of the pile, in the place of the same unit where that is there already."""
        for index, old in enumerate(pile.texts):
            if old == package.units[unit].text:
                pile.texts[index] = text
                return index
        pile.texts.append(text)
        return len(pile.texts) - 1

    def ask_constant(self, package: Package, pile: Pile, chosen: list[int]) -> Question | None:
        """A constant of the package itself, as written or in plain words."""
        for unit in self.rng.sample(range(len(package.units)), min(40, len(package.units))):
            match = CONSTANT.search(package.units[unit].text)
            if match and len(match[1]) > 4:
                name = match[1] if self.rng.random() < 0.4 else plain(match[1])
                index = self.add(package, pile, unit, package.units[unit].text)
                return Question(f"What is {name}?", match[2], index)
        return None

    def ask_where(self, package: Package, pile: Pile, chosen: list[int]) -> Question | None:
        """A definition by its name."""
        unit = self.rng.choice(chosen)
        name = package.units[unit].name
        if not name or name.startswith("__"):
            return None
        said = name if self.rng.random() < 0.6 else plain(name)
        text = package.units[unit].text
        line = next((part.strip() for part in text.split("\n") if name in part), "")
        index = self.add(package, pile, unit, text)
        return Question(self.rng.choice(self.where).format(name=said), line, index)

    def ask_returns(self, package: Package, pile: Pile, chosen: list[int]) -> Question | None:
        """What a function returns, by its name."""
        unit = self.rng.choice(chosen)
        found = RETURN.findall(package.units[unit].text)
        name = package.units[unit].name
        if not found or not name or name.startswith("__"):
            return None
        index = self.add(package, pile, unit, package.units[unit].text)
        return Question(self.rng.choice(self.returns).format(name=name), found[-1], index)

    def ask_call(self, package: Package, pile: Pile, chosen: list[int]) -> Question | None:
        """The code around a call, cut before the callee's name or with the name left out."""
        if not package.calls:
            return None
        call = self.rng.choice(package.calls)
        if package.units[call.caller].text in pile.texts:
            return None
        index = self.add(package, pile, call.callee, package.units[call.callee].text)
        if self.rng.random() < CUT_BEFORE:
            return Question(call.before, call.name + "(", index, glue="")
        name = call.name if self.rng.random() < BARE_NAME else "____"
        return Question(call.before + name + call.after, "", index)

    def ask_doc(self, package: Package, pile: Pile, chosen: list[int]) -> Question | None:
        """A function by what its docstring says, the docstring taken out."""
        if not package.described:
            return None
        unit = self.rng.choice(package.described)
        index = self.add(package, pile, unit, package.units[unit].bare)
        return Question(asked(self.rng, package.units[unit].doc, held=self.held), package.units[unit].name, index)
