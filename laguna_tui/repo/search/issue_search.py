"""From a long request, such as an issue's text, to the code that it is about.

A traceback's frames, paths, quoted names and names that look like code say more than the prose around them: frames and
paths are looked up as places, names come before words in the question that is searched for.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from laguna_tui.repo.search.identifiers import looks_like_code
from laguna_tui.repo.search.ranking import RankedUnit, best_first, search, times
from laguna_tui.repo.search.retrieval import UnitCandidate, candidates_at, known_paths

# A longer request, or one with frames, is read as an issue.
_LONG_WORDS = 40
_LONG_LINES = 6
# Enough of any log.
_READ_CHARS = 32 * 1024
# Frames nearest to the error that are looked up; the names that are searched for.
_FRAMES = 12
_NAMES = 16
_PROSE_WORDS = 40
# Factors of a unit that a frame points into (less for each frame further from the error), of one whose file is named.
_IN_FRAME, _PER_FRAME = 3.0, 0.8
_IN_PATH = 1.5
# Score of a unit that only the name of its file led to, relative to the best; a frame leads to one as good as the best.
_ONLY_PLACED = 0.5
_LOOKED_THROUGH = 200
# A name as common as "index.ts" says nothing.
_SAME_ENDING = 4
_LONGEST_NAME = 80

_SUFFIX = r"\.[A-Za-z][A-Za-z0-9]{0,5}"
_FRAMED = re.compile(
    r'File "(?P<python>[^"\n]{1,400})", line (?P<python_line>\d{1,7})(?:, in (?P<function>\w+))?'
    rf"|(?P<path>[\w@./\\+-]{{1,120}}{_SUFFIX}):(?P<line>\d{{1,7}})"
)
_PATH = re.compile(rf"(?<![\w/.\\-])(?:[\w@.+-]+[/\\])*[\w@+-][\w@.+-]*{_SUFFIX}(?![\w/])")
_BLOCK = re.compile(r"```[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_QUOTED = re.compile(r"`([^`\n]{2,120})`|[\"“']([A-Za-z_][\w.:]{2,80})[\"”']")
_NAME = re.compile(r"[A-Za-z_][\w.]*(?:\(\))?")
_ADDRESS = re.compile(r"https?://\S+")


class Issue(NamedTuple):
    """What a long request says.

    Attributes:
        frames: Path and line of each frame of its tracebacks, the one nearest to the error first.
        paths: Files that it names.
        names: Names that look like code or are quoted, those that occur first first.
        prose: Its first words, without all these.
    """

    frames: tuple[tuple[str, int], ...]
    paths: tuple[str, ...]
    names: tuple[str, ...]
    prose: str

    @property
    def question(self) -> str:
        title, _, rest = self.prose.partition("\n")
        return " ".join((title, *(f"`{name}`" for name in self.names), rest))


def is_issue(text: str) -> bool:
    """Return whether a request is long enough, or has a frame of a traceback, to be read as an issue."""
    head = text[:_READ_CHARS]
    return len(head.split()) > _LONG_WORDS or (head.count("\n") >= _LONG_LINES and _FRAMED.search(head) is not None)


def read_issue(text: str) -> Issue:
    """Take a request apart."""
    text = _ADDRESS.sub(" ", text[:_READ_CHARS])
    frames = tuple(dict.fromkeys(_frames(text)))[:_FRAMES]
    paths = tuple(dict.fromkeys(match.group().replace("\\", "/") for match in _PATH.finditer(text)))[:_FRAMES]
    names = tuple(dict.fromkeys(_names(text)))[:_NAMES]
    plain = _FRAMED.sub(" ", _BLOCK.sub(" ", text))
    lines = [" ".join(line.split()) for line in plain.splitlines() if line.strip()]
    title, rest = (lines[0].lstrip("# "), " ".join(lines[1:])) if lines else ("", "")
    return Issue(frames, paths, names, f"{title}\n{' '.join(rest.split()[:_PROSE_WORDS])}")


def search_issue(connection: sqlite3.Connection, text: str, limit: int = 20) -> list[RankedUnit]:
    """Return the units that a long request is about, best first, each with its reasons."""
    issue = read_issue(text)
    found = {result.unit.unit: result for result in search(connection, issue.question, _LOOKED_THROUGH)}
    best = max((result.score for result in found.values()), default=1.0)
    known = known_paths(connection)
    in_frames = _units_in_frames(connection, issue, known)
    named = {file for path in issue.paths for file in _files(path, known)}
    for unit, factor in in_frames.items():
        known_as = found.get(unit.unit)
        if known_as is None or known_as.score < best:
            known_as = RankedUnit(unit, best, {"placed": best})
        found[unit.unit] = times(known_as, "frame", factor)
    for file in named - {result.unit.file for result in found.values()}:
        for unit in candidates_at(connection, file, 1):
            found[unit.unit] = RankedUnit(unit, best * _ONLY_PLACED, {"placed": best * _ONLY_PLACED})
    weighed = [times(each, "named", _IN_PATH) if each.unit.file in named else each for each in found.values()]
    return sorted(weighed, key=best_first)[:limit]


def _units_in_frames(
    connection: sqlite3.Connection, issue: Issue, known: Mapping[str, int]
) -> dict[UnitCandidate, float]:
    """Return the innermost unit at each frame that is a place of this folder, and its factor."""
    factors: dict[UnitCandidate, float] = {}
    factor = _IN_FRAME
    for path, line in issue.frames:
        units = [unit for file in _files(path, known) for unit in candidates_at(connection, file, line)]
        for unit in units:
            factors.setdefault(unit, max(factor, 1.0))
        if units:
            factor *= _PER_FRAME
    return factors


def _frames(text: str) -> Iterator[tuple[str, int]]:
    """Yield frames, nearest to the error first: Python's tracebacks end with it, the others begin with it."""
    found = [
        (match["python"] or match["path"], int(match["python_line"] or match["line"]), bool(match["python"]))
        for match in _FRAMED.finditer(text)
    ]
    yield from ((path, line) for path, line, python in reversed(found) if python)
    yield from ((path, line) for path, line, python in found if not python)


def _names(text: str) -> Iterator[str]:
    yield from (match["function"] for match in reversed(list(_FRAMED.finditer(text))) if match["function"])
    for match in _QUOTED.finditer(text):
        yield from _NAME.findall(match[1] or match[2])[:4]
    for name in _NAME.findall(text):
        if looks_like_code(name) and len(name) <= _LONGEST_NAME:
            yield name.rstrip(".")


def _files(path: str, known: Mapping[str, int]) -> Sequence[int]:
    """Return the files that a path means: one ends like the other; empty when too many do."""
    wanted = path.replace("\\", "/").removeprefix("./")
    if wanted in known:
        return [known[wanted]]
    ending = f"/{wanted}"
    found = [file for each, file in known.items() if each.endswith(ending) or ending.endswith(f"/{each}")]
    return found if len(found) <= _SAME_ENDING else []
