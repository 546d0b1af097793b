"""A set of questions in people's own words about packages, with what a right answer contains.

A set is two files beside this one: NAME.toml lists its packages, NAME.jsonl has a question a line (see `Question`).
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.evals.corpora import debian_package, npm_package, package

_HERE = Path(__file__).parent
_DOWNLOADS = {"pypi": package, "npm": npm_package, "debian": debian_package}


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a right answer contains.

    Attributes:
        of: each a place (`path:line`, or `path:first-last` for any line of them) or words, or several that are worth
            the same, such as a call and the function around it.
        least: how many of them.
    """

    of: tuple[tuple[str, ...], ...]
    least: int = 1


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        before: what was asked before it in the same chat.
        right: what the answer contains, all of it.
        wrong: words that no right answer contains, such as the name of an earlier question.
        name: what it asks about.
        only: lines by path; a place outside of them is not what was asked for. No lines: any line of that file.
        absent: what it asks for is not in the folder.
        changes: what the answer does: a word by the path of the file that has it afterwards.
    """

    id: str
    package: str
    kind: str
    ask: str
    before: tuple[str, ...] = ()
    right: tuple[Fact, ...] = ()
    wrong: tuple[str, ...] = ()
    name: str = ""
    only: Mapping[str, frozenset[int]] = field(default_factory=dict)
    absent: bool = False
    changes: Mapping[str, str] = field(default_factory=dict)

    @property
    def alone(self) -> bool:
        """Whether it can be asked anywhere in a chat, and any number of times."""
        return not self.before and not self.changes


def sets() -> list[str]:
    """Return the names of the sets of questions."""
    return sorted(path.stem for path in _HERE.glob("*.jsonl"))


def read_questions(name: str) -> list[Question]:
    """Return the questions of a set, in their order."""
    lines = (_HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [_question(json.loads(line)) for line in lines if line]


def folders(name: str) -> dict[str, Path]:
    """Return the folder of each package of a set, without those that cannot be downloaded here."""
    packages = tomllib.loads((_HERE / f"{name}.toml").read_text(encoding="utf-8"))
    found = {}
    for title, entry in packages.items():
        folder = _DOWNLOADS[entry["registry"]](entry["name"], entry["version"], entry["sha256"])
        if folder is not None:
            found[title] = folder / entry.get("folder", "")
    return found


def _question(row: dict[str, object]) -> Question:
    values = dict(row)
    for key in ("before", "wrong"):
        if isinstance(found := values.get(key), list):
            values[key] = tuple(found)
    if isinstance(facts := values.get("right"), list):
        values["right"] = tuple(Fact(tuple(map(_alternatives, each["of"])), each.get("least", 1)) for each in facts)
    if isinstance(only := values.get("only"), dict):
        values["only"] = {path: frozenset(lines) for path, lines in only.items()}
    return Question(**values)  # type: ignore[arg-type]


def _alternatives(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
