"""Results of the app's real tools, taken apart and put together again: other names, paths and numbers, the same look.

Deals in lists as the tools in `laguna_tui/agent/tools/nano` print them, and prints them by the same code. So
there is nothing to learn by heart: a name stands for itself only.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import apptools  # noqa: F401  (makes the app importable)
import repeats

from laguna_tui.agent.tools.nano.find import LINES
from laguna_tui.agent.tools.nano.search import DEFINED, TESTED, USED, ListedLine, list_lines, numbered

LINE = re.compile(r"^\d\. `(\S+) (\S+):(\d+)`(?: `(.*)`)?$")
OUTLINED = re.compile(r"^\d\. `(\S+):(\d+)`$")
PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
EMPTY = {DEFINED: 0.06, USED: 0.14, TESTED: 0.22}  # shares of lists that are left empty
MISSING_SHARE = 0.12  # of searches that find nothing at all
NUMBERS = {DEFINED: ([1, 2, 3, 5], [80, 12, 5, 3]), USED: ([1, 2, 3, 4, 5, 8, 30], [22, 20, 16, 14, 12, 10, 6]),
           TESTED: ([1, 2, 3, 4, 7, 40], [30, 24, 18, 14, 9, 5])}  # fmt: skip
"""How many lines a list has, and how often."""
FILES = ([2, 3, 4, 7, 15], [5, 4, 3, 2, 1])
OUTLINES = ([0, 1, 2, 3, 4, 5, 6, 7, 9, 20], [4, 8, 12, 14, 14, 12, 10, 10, 10, 6])
SAME_FILE_SHARE = 0.5  # of the lines of a list, stand in the file of the line before
OWN_NAME_SHARE, MODULE_SHARE = 0.06, 0.05  # of users are called like what they use; have no name
RENAMED_SHARE, MOVED_SHARE = 0.6, 0.5
ALIKE_SHARE = 0.3  # of paths and tests are called like what is in them: the same tokens twice in a line
REPEATED_SHARE = 0.25  # of definitions, of lists of names, and of tests' names are made up of few words and types
HIGHEST = (90, 400, 1500, 4000)  # line numbers


@dataclass(frozen=True, slots=True)
class Found:
    """What a tool was asked and what it printed; a definition's path and code, if it found one."""

    pattern: str
    result: str


def load(folder: Path, names: set[str]) -> list[dict[str, str]]:
    """Every cached result of the named repositories: `tool`, `pattern` and `result`."""
    return [entry for name in sorted(names) for entry in json.loads((folder / f"{name}.json").read_text())]


def mistyped(rng: random.Random, wording: str) -> str:
    """The wording with one of its longer words misspelled, if it has any: swapped, lost, doubled or wrong letters."""
    words = wording.split(" ")
    at = [i for i, word in enumerate(words) if len(word) > 3 and word.isalpha()]
    if not at:
        return wording
    index = rng.choice(at)
    word = words[index]
    place = rng.randrange(len(word) - 1)
    words[index] = rng.choice([
        word[:place] + word[place + 1] + word[place] + word[place + 2 :],
        word[:place] + word[place + 1 :],
        word[:place] + word[place] + word[place:],
        word[:place] + rng.choice(LETTERS) + word[place + 1 :],
    ])  # fmt: skip
    return " ".join(words)


class Names:
    """Random identifiers and paths, from words of the training corpus."""

    def __init__(self, rng: random.Random, words: Sequence[str]) -> None:
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
        """A new name in the style of another: class-like, all capitals, private or plain."""
        words = [self.word() for _ in range(self.rng.choices([1, 2, 3, 4], [3, 5, 3, 1])[0])]
        private = "_" if like.startswith("_") else ""
        bare = like.lstrip("_")
        if bare.isupper() and len(bare) > 1:
            return private + "_".join(words).upper()
        if bare[:1].isupper():
            return private + "".join(word.capitalize() for word in words)
        return private + "_".join(words)

    def file(self) -> str:
        """A file's stem."""
        return self.rng.choice([self.word(), self.word() + "_" + self.word(), "_" + self.word()])

    def moved(self, path: str) -> str:
        """The path with other names for its folders and file, as deep as it was."""
        *folders, name = path.split("/")
        stem, dot, suffix = name.partition(".")
        folders = [self.file() if self.rng.random() < 0.8 else folder for folder in folders]
        return "/".join([*folders, (self.file() if self.rng.random() < 0.8 else stem) + dot + suffix])

    def called_like(self, name: str) -> str:
        """A stem that says some of a name: `cart_items` or `cart` for `CartItems`."""
        words = [word.lower() for word in PARTS.findall(name)] or [self.word()]
        start = self.rng.randrange(len(words))
        return "_".join(words[start : start + self.rng.randint(1, 3)] if self.rng.random() < 0.7 else words)

    def renamed(self, path: str, stem: str) -> str:
        """The path with another file's name."""
        folder, slash, name = path.rpartition("/")
        return folder + slash + stem + "." + name.partition(".")[2]

    def test_path(self, stem: str) -> str:
        """A file of tests of a module."""
        stem = stem.lstrip("_") or self.word()
        name = self.rng.choice([f"test_{stem}.py", f"test_{stem}.py", f"{stem}_test.py"])
        folder = self.rng.choice(["tests/", "tests/", "test/", f"tests/{self.word()}/", f"{self.word()}/tests/"])
        return folder + name


class Source:
    """An endless, seeded source of results."""

    def __init__(self, rng: random.Random, entries: Sequence[dict[str, str]], words: Sequence[str]) -> None:
        self.rng, self.names = rng, Names(rng, words)
        self.definitions: list[tuple[str, ListedLine]] = []
        self.users: list[ListedLine] = []
        self.paths: list[str] = []
        self.outlined: list[str] = []
        for entry in entries:
            self._take(entry)

    def _take(self, entry: dict[str, str]) -> None:
        lines = entry["result"].splitlines()
        for match in filter(None, map(LINE.match, lines)):
            line = ListedLine(match[1], match[2], int(match[3]), match[4] or "")
            if line.code:
                self.definitions.append((entry["pattern"], line))
            else:
                self.users.append(line)
            self.paths.append(line.path)
        self.outlined += [match[1] for match in map(OUTLINED.match, lines) if match]

    def place(self, line: ListedLine) -> ListedLine:
        """The line elsewhere."""
        number = self.rng.randint(1, self.rng.choice(HIGHEST))
        path = self.names.moved(line.path) if self.rng.random() < MOVED_SHARE else line.path
        return replace(line, path=path, line=number)

    def search(self, title: str, name: str = "") -> Found:
        """Where a name, a new one if none is given, is defined, used or tested; rarely nowhere."""
        rng = self.rng
        old, defined = self._short()
        if not name:
            name = self.names.identifier(old) if rng.random() < RENAMED_SHARE else old
        if rng.random() < 0.5 and not name.isupper():
            old, defined = self._alike(name)
        if rng.random() < MISSING_SHARE:
            return Found(name, f"Nothing matches `{name}`.")
        lists = {title: self._list(title, name, old, defined)}
        return Found(name, "\n".join(list_lines(lists, cut=lists if rng.random() < 0.03 else ())))

    def _short(self) -> tuple[str, ListedLine]:
        """A definition, mostly the shorter of two: long ones cost much."""
        number = self.rng.choice([1, 2, 2])
        return min(self.rng.choices(self.definitions, k=number), key=lambda found: len(found[1].code))

    def _alike(self, name: str) -> tuple[str, ListedLine]:
        """A definition of something of the same kind, as far as case tells."""
        for _ in range(8):
            old, line = self._short()
            if old[:1].isupper() == name.lstrip("_")[:1].isupper():
                return old, line
        return self.rng.choice(self.definitions)

    def _list(self, title: str, name: str, old: str, defined: ListedLine) -> list[ListedLine]:
        rng = self.rng
        if rng.random() < EMPTY[title]:
            return []
        number = rng.choices(*NUMBERS[title])[0]
        if title == DEFINED:
            others = [self._alike(name) for _ in range(number - 1)]
            return [self._definition(name, *each) for each in [(old, defined), *others]]
        lines: list[ListedLine] = []
        for _ in range(number):
            line = self.place(rng.choice(self.users))
            symbol = self.names.identifier(line.symbol) if rng.random() < RENAMED_SHARE else line.symbol
            path, alike = line.path, rng.random() < ALIKE_SHARE
            if title == TESTED:
                about = f"{self.names.called_like(name)}_{symbol.lstrip('_-')}" if alike else symbol.lstrip("_-")
                about = repeats.sentence(rng, self.names) if rng.random() < REPEATED_SHARE else about
                symbol = rng.choice(["test_", "test_", "test_", "", "Test"]) + (about or "it")
                path = self.names.test_path(self.names.called_like(name) if alike else self.names.file())
            elif alike:
                path = self.names.renamed(path, self.names.called_like(rng.choice([name, symbol])))
            if title == USED and rng.random() < OWN_NAME_SHARE + MODULE_SHARE:
                symbol = name if rng.random() < OWN_NAME_SHARE / (OWN_NAME_SHARE + MODULE_SHARE) else "-"
            if lines and rng.random() < SAME_FILE_SHARE:
                path = lines[-1].path
            lines.append(replace(line, symbol=symbol, path=path))
        ordered = sorted(lines, key=lambda line: line.symbol == "-")
        return sorted(ordered, key=lambda line: line.path) if rng.random() < 0.5 else ordered

    def _definition(self, name: str, old: str, line: ListedLine) -> ListedLine:
        last = name.rpartition(".")[2]
        if self.rng.random() < REPEATED_SHARE and not last.isupper():
            code = repeats.head(self.rng, self.names, last)
        else:
            code = re.sub(rf"\b{re.escape(line.symbol)}\b", lambda _: last, line.code)
        line = self.place(line)
        alike = self.rng.random() < ALIKE_SHARE
        path = self.names.renamed(line.path, self.names.called_like(name)) if alike else line.path
        return replace(line, symbol=last, path=path, code=code)

    def path(self) -> str:
        """A path of the corpus or a changed one."""
        path = self.rng.choice(self.paths)
        return self.names.moved(path) if self.rng.random() < MOVED_SHARE else path

    def asked(self, path: str) -> str:
        """A path as people name files: its end, some or all of it."""
        return "/".join(path.split("/")[-self.rng.choice([1, 1, 1, 2, 3, 9]) :])

    def find(self) -> Found:
        """What a file defines, or which files are meant; rarely none."""
        rng, path = self.rng, self.path()
        pattern = self.asked(path)
        chance = rng.random()
        if chance < 0.1:
            return Found(pattern, f"No file matches `{pattern}`.")
        if chance < 0.18:
            end = pattern.split("/")[-1]
            files = sorted(f"{self.names.file()}/{end}" for _ in range(rng.choices(*FILES)[0]))
            return Found(end, "\n".join(["Several files match:", *numbered([f"`{each}`" for each in files], LINES)]))
        number = rng.choices(*OUTLINES)[0]
        if not number:
            return Found(pattern, f"`{path}` defines nothing at its top level.")
        if rng.random() < REPEATED_SHARE:
            names = repeats.kin(rng, self.names, number)
        else:
            names = [rng.choice(self.outlined) for _ in range(number)]
            names = [self.names.identifier(each) if rng.random() < RENAMED_SHARE else each for each in names]
        places = sorted(rng.sample(range(1, max(30, number * rng.choice([12, 40, 120]))), number))
        items = [f"{each}:{place}" for each, place in zip(names, places, strict=True)]
        return Found(pattern, "\n".join([f"`{path}` defines:", *numbered([f"`{each}`" for each in items], LINES)]))
