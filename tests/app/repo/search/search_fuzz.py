"""Any file, any question: folders of damaged and odd files are indexed and asked whatever comes to mind.

`python -m tests.app.repo.search.search_fuzz [FOLDERS] [FIRST]`, 500 folders by default; the suite has a short sample
(`test_search_fuzz.py`). Folder 4711 is the same on every machine. What must never happen: an exception, an index whose
tables do not fit together, a question that takes the processor longer than 200 ms.
"""

import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from laguna_tui.repo.search.index import Index
from laguna_tui.repo.search.issue_search import search_issue
from laguna_tui.repo.search.ranking import search
from laguna_tui.repo.search.repository_map import repository_map
from laguna_tui.repo.search.symbol_search import definitions_of, find_symbols, members_of
from laguna_tui.repo.search.symbol_uses import find_uses
from tests.app.repo.search.index_checks import faults
from tests.app.repo.syntax.test_syntax import SOURCES

FOLDERS = 500
SLOW_S = 0.2
_QUESTIONS = 40
_HERE = Path(__file__).parents[4]
_SUFFIXES = sorted({Path(path).suffix for path in SOURCES} | {".md", ".txt", ".json", ".h", ".groovy", ".vue", ""})
_PIECES = (
    "(", ")", "{", "}", "[", '"', "'", "`", '"""', "/*", "*/", "//", "#", "\\", "\n", "\r\n", "\r", "\t", "\0", "é",
    "∞", "\ud800", "\ufeff", "\u2028", "\x1b[31m", "def ", "class ", "fn ", "import ", "#include <", "@", "::",
    "->", "=>", "a" * 5_000, "(" * 400, "x = 1\n" * 2_000, "https://a.b/c?d=e", 'File "a.py", line 3, in f', "a.py:3:",
    "%", "_", "*",
)  # fmt: skip


class Fault(NamedTuple):
    """What went wrong: of which folder, with what, and how."""

    folder: int
    asked: str
    what: str


class Report(NamedTuple):
    """What one folder gave: its faults, how many questions were asked, and the slowest one's seconds of processor."""

    faults: list[Fault]
    asked: int
    slowest: float


def fuzzed(number: int, place: Path) -> Report:
    """Make a folder in an empty place, index it and ask it."""
    rng = Random(number)
    root, cache = place / "root", place / "cache"
    root.mkdir()
    for at in range(rng.randint(1, 12)):
        _write(root, _name(rng, at), _file(rng))
    found: list[Fault] = []
    asked, slowest = 0, 0.0
    with Index.open(root, cache) as index:
        for _ in range(2):
            _guarded(found, number, "index", lambda: index.refresh(workers=0))
            found += [Fault(number, "index", fault) for fault in [*index.notes, *faults(index.connection)]]
            for what, ask in _questions(rng, index):
                seconds = _guarded(found, number, what, ask)
                asked += 1
                slowest = max(slowest, seconds)
                if seconds > SLOW_S:
                    found.append(Fault(number, what, f"took {seconds * 1e3:.0f} ms"))
            _write(root, _name(rng, rng.randrange(12)), _file(rng))
    return Report(found, asked, slowest)


def _guarded(found: list[Fault], number: int, what: str, run: Callable[[], object]) -> float:
    """Run something, and note what it raises; the seconds that it took the processor."""
    began = time.thread_time()
    try:
        run()
    except Exception:  # whatever it is, it is a fault
        found.append(Fault(number, what, traceback.format_exc(limit=-3)))
    return time.thread_time() - began


def _write(root: Path, name: str, data: bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _name(rng: Random, number: int) -> str:
    stem = rng.choice(("a", "test_a", "index", "Größe", "a b", "x\ny", "-o", "_", "docs/a", "lib/x/a", "a.min", "%s"))
    return f"{stem}{number}{rng.choice(_SUFFIXES)}"


def _file(rng: Random) -> bytes:
    kind = rng.random()
    if kind < 0.1:
        return rng.randbytes(rng.choice((0, 1, 100, 20_000)))
    if kind < 0.15:
        return _text(rng).encode(rng.choice(("utf-16", "utf-32", "latin-1", "utf-8-sig")), errors="replace")
    data = _text(rng).encode("utf-8", errors="replace")
    for _ in range(rng.choice((0, 0, 1, 5))):
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.randbytes(rng.randint(1, 3)) + data[at + rng.randrange(4) :]
    return data


def _text(rng: Random) -> str:
    """Code of some language with something done to it."""
    text = rng.choice(list(SOURCES.values()))[0]
    if rng.random() < 0.3:
        text = _code(rng)
    for _ in range(rng.choice((0, 1, 2, 8))):
        at, width = rng.randrange(len(text) + 1), rng.randrange(200)
        match rng.randrange(4):
            case 0:
                text = text[:at] + text[at + width :]
            case 1:
                text = text[:at] + rng.choice(_PIECES) + text[at:]
            case 2:
                text += text[at : at + width] * rng.choice((1, 3, 100))
            case _:
                text = text[at:] + text[:at]
    return text


def _code(rng: Random) -> str:
    """One of the project's own files."""
    paths = sorted((_HERE / "laguna_tui").rglob("*.py"))
    return rng.choice(paths).read_text(encoding="utf-8")


def _questions(rng: Random, index: Index) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is asked, and what asks it."""
    names = [name for (name,) in index.connection.execute("select name from names limit 1000")] or ["a"]
    words = [word for (word,) in index.connection.execute("select word from postings limit 1000")] or ["a"]
    for _ in range(_QUESTIONS):
        text = _question(rng, names, words)
        shown = repr(text if len(text) < 300 else f"{text[:300]}…")
        ask = rng.choice((search, search, search, search_issue))
        yield f"{ask.__name__} {shown}", partial(ask, index.connection, text)
        for named in (find_symbols, definitions_of, members_of):
            yield f"{named.__name__} {shown}", partial(named, index.connection, text)
    for name in rng.choices(names, k=4):
        yield f"find_uses {name!r}", partial(find_uses, index.connection, index.root, name)
    yield "map", lambda: repository_map(index.connection, rng.choice((64, 2048)), [])


def _question(rng: Random, names: list[str], words: list[str]) -> str:
    kind = rng.random()
    if kind < 0.3:
        return " ".join(rng.choices(words, k=rng.choice((1, 3, 40))))
    if kind < 0.6:
        return rng.choice((".", "::", " ", "()", "\n")).join(rng.choices(names, k=rng.choice((1, 2, 5))))
    if kind < 0.8:
        return "".join(rng.choices(_PIECES, k=rng.choice((1, 3, 12))))
    if kind < 0.9:
        return "".join(chr(rng.choice((rng.randrange(128), rng.randrange(0xD800)))) for _ in range(rng.randrange(400)))
    return _text(rng)


def main() -> None:
    folders = int(sys.argv[1]) if len(sys.argv) > 1 else FOLDERS
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    wrong, asked, slowest = 0, 0, 0.0
    for number in range(first, first + folders):
        with tempfile.TemporaryDirectory() as place:
            report = fuzzed(number, Path(place))
        asked, slowest = asked + report.asked, max(slowest, report.slowest)
        wrong += bool(report.faults)
        for fault in report.faults:
            print(f"folder {fault.folder}: {fault.asked}: {fault.what}", flush=True)
    print(f"{folders} folders, {asked:,} questions, the slowest {slowest * 1e3:.0f} ms; {wrong} folders with a fault")


if __name__ == "__main__":
    main()
