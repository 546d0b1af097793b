"""The lines of a file most similar to a text that is not in it, so that the next try can be right.

One pass over the file: a line scores by what it has in common with the wanted lines, rare words more than frequent
ones, and the block of lines with the highest score is shown. The time grows with the file's length and nothing else.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache
from itertools import accumulate, groupby, zip_longest
from unicodedata import category, is_normalized, name, normalize

from laguna_tui.base.paths import escaped
from laguna_tui.repo.files.text_files import split_lines

# Lines shown, including those around the nearest block.
SHOWN_LINES = 40
CONTEXT_LINES = 3
LINE_CHARS = 400
# Lines whose words are looked for; more do not locate a text better.
_WANTED_LINES = 200
_WORD = re.compile(r"\w+|[^\w\s]+")
# Blanks and invisible characters, and the runs of other characters between them.
_UNSEEN = re.compile("[\\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+")
_RUN = re.compile(f"{_UNSEEN.pattern}|(?:(?!{_UNSEEN.pattern}).)+")
_RUN_CHARS = 40
_BLANKS = {" ": "space", "\t": "tab", "\r": "carriage return"}
# Wanted words looked for in a block, or in a long line.
_SOUGHT = 100
# Lines with a smaller share of the wanted words are not similar.
_LEAST = 0.3
# Score of a line that differs in blanks only, in words.
_SAME_LINE = 3.0

_NEAREST = (
    "the old text is not in {path}{unlike}; the nearest text is lines {first}-{last}, call again with old as it is"
    " there:"
)
_UNLIKE = ", but line {number} looks like it: it has {found} where old has {wanted}"
_NONE = "the old text is not in {path}, nor anything like it; read the file, then call again with text as it stands"
_CUT = "…"


def nearest_text(inside: str, text: str, old: str) -> str:
    """Return a sentence for the model about a text that is not in a file, with the most similar lines."""
    lines = split_lines(text)
    wanted = split_lines(old.strip("\r\n"))[:_WANTED_LINES]
    none = _NONE.format(path=escaped(inside))
    scores, known = _scores(lines, wanted)
    if not any(scores):
        return none
    size = min(len(wanted), len(lines))
    sums = [0.0, *accumulate(scores)]
    blocks = [sums[at + size] - sums[at] for at in range(len(lines) - size + 1)]
    # Among equal blocks, the one whose first line scores most.
    best = max(range(len(blocks)), key=lambda at: (blocks[at], scores[at]))
    if _share(lines[best : best + size], wanted) < _LEAST:
        return none
    first = max(best - CONTEXT_LINES, 0)
    last = min(best + size + CONTEXT_LINES, len(lines), first + SHOWN_LINES)
    shown = [f"{number + 1}: {_cut(lines[number], known)}" for number in range(first, last)]
    unlike = unseen_difference(lines, wanted, range(best, best + size))
    head = _NEAREST.format(path=escaped(inside), unlike=unlike, first=first + 1, last=last)
    return "\n".join([head, *shown])


def unseen_difference(lines: Sequence[str], wanted: Sequence[str], numbers: Iterable[int]) -> str:
    """Return what differs in the first of some lines that looks as wanted but is another text, as a clause.

    Args:
        lines: those of the file.
        wanted: those that are compared with them, in order.
        numbers: indices of `lines`.
    """
    for number, want in zip(numbers, wanted, strict=False):
        if lines[number] != want and _looks(lines[number]) == _looks(want):
            pairs = zip_longest(_RUN.findall(lines[number]), _RUN.findall(want), fillvalue="")
            found, sought = next(pair for pair in pairs if pair[0] != pair[1])
            if normalize("NFC", found) == normalize("NFC", sought):
                found, sought = (f"{text[:_RUN_CHARS]!r} in the normal form {_form(text)}" for text in (found, sought))
            else:
                found, sought = map(_named, (found, sought))
            return _UNLIKE.format(number=number + 1, found=found, wanted=sought)
    return ""


@lru_cache(maxsize=1024)
def _looks(line: str) -> str:
    """Return a line with single blanks and without invisible characters."""
    plain = line if line.isascii() else "".join(c for c in normalize("NFC", line) if category(c) != "Cf")
    return " ".join(plain.split())


def _form(text: str) -> str:
    return next((form for form in ("NFC", "NFD") if is_normalized(form, text)), "mixed")


def _named(run: str) -> str:
    """Return invisible characters by name and number: "2 spaces and a tab"."""
    if not run or not _UNSEEN.fullmatch(run):
        return repr(run[:_RUN_CHARS]) if run else "nothing"
    named = []
    for letter, same in groupby(run):
        count = len(list(same))
        word = _BLANKS.get(letter) or f"{name(letter, 'character').lower()} (U+{ord(letter):04X})"
        named.append(f"a {word}" if count == 1 else f"{count} {word}s" if letter in _BLANKS else f"{count} {word}")
    return " and ".join(named)


def _share(found: Sequence[str], wanted: Sequence[str]) -> float:
    words, text = _longest(set(_WORD.findall("\n".join(wanted)))), "\n".join(found)
    return sum(word in text for word in words) / len(words)


def _longest(words: Set[str]) -> list[str]:
    """Return the longest of the words; each of them is looked for in what may be a very long line."""
    return sorted(words, key=len)[-_SOUGHT:]


def _scores(lines: Sequence[str], wanted: Sequence[str]) -> tuple[list[float], frozenset[str]]:
    """Score each line by what it has in common with the wanted ones; also returns the wanted words that occur."""
    words = set(_WORD.findall("\n".join(wanted)))
    same = {_looks(line) for line in wanted} - {""}
    having: dict[str, list[int]] = defaultdict(list)
    alike: dict[int, str] = {}
    for number, line in enumerate(lines):
        for word in words.intersection(_WORD.findall(line)):
            having[word].append(number)
        if (plain := _looks(line)) in same:
            alike[number] = plain
    weights = {word: 1 / len(numbers) for word, numbers in having.items()}
    scores = [0.0] * len(lines)
    for word, numbers in having.items():
        for number in numbers:
            scores[number] += weights[word]
    often = Counter(alike.values())
    for number, plain in alike.items():
        scores[number] += _SAME_LINE / often[plain]
    return scores, frozenset(having)


def _cut(line: str, words: Set[str]) -> str:
    """Return the line, or the part of a long one around the rarest of the wanted words in it."""
    if len(line) <= LINE_CHARS:
        return line
    likely = [word for word in _longest(words) if word in line]
    rarest = min(likely, key=line.count, default="")
    start = max(line.find(rarest) - LINE_CHARS // 4, 0)
    end = start + LINE_CHARS
    return f"{_CUT if start else ''}{line[start:end]}{_CUT if end < len(line) else ''}"
