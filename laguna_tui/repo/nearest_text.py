"""What a file has where a text was expected: the lines most like it, so that the next try can be right.

One pass over the file: a line counts for what it has in common with the wanted lines, rare words for more than frequent
ones, and the block of lines that counts for most is shown. The time grows with the file's length and nothing else.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence, Set
from itertools import accumulate

from laguna_tui.repo.relative_paths import escaped
from laguna_tui.repo.text_files import split_lines

# Lines shown, those around the nearest block included; a longer text is asked for in parts.
SHOWN_LINES = 40
CONTEXT_LINES = 3
LINE_CHARS = 400
# Words looked for: more of them say no more about where a text is.
_WANTED_LINES = 200
_WORD = re.compile(r"\w+|[^\w\s]+")
# So many of the wanted words are looked for in a block, or in a long line.
_SOUGHT = 100
# Lines that have a smaller share of the wanted words are like any others.
_LEAST = 0.3
# What a line adds that is the same but for its blanks, in words.
_SAME_LINE = 3.0

_NEAREST = (
    "the old text is not in {path}; the nearest text is lines {first}-{last}, call again with old as it is there:"
)
_NONE = "the old text is not in {path}, nor anything like it; read the file, then call again with text as it stands"
_CUT = "…"


def nearest_text(inside: str, text: str, old: str) -> str:
    """A sentence for the model about a text that is not in a file, with the numbered lines that are most like it."""
    lines = split_lines(text)
    wanted = split_lines(old.strip("\r\n"))[:_WANTED_LINES]
    none = _NONE.format(path=escaped(inside))
    scores, known = _scores(lines, wanted)
    if not any(scores):
        return none
    size = min(len(wanted), len(lines))
    sums = [0.0, *accumulate(scores)]
    blocks = [sums[at + size] - sums[at] for at in range(len(lines) - size + 1)]
    # Of blocks that count the same, the one that begins with a line that counts.
    best = max(range(len(blocks)), key=lambda at: (blocks[at], scores[at]))
    if _share(lines[best : best + size], wanted) < _LEAST:
        return none
    first = max(best - CONTEXT_LINES, 0)
    last = min(best + size + CONTEXT_LINES, len(lines), first + SHOWN_LINES)
    shown = [f"{number + 1}: {_cut(lines[number], known)}" for number in range(first, last)]
    head = _NEAREST.format(path=escaped(inside), first=first + 1, last=last)
    return "\n".join([head, *shown])


def _share(found: Sequence[str], wanted: Sequence[str]) -> float:
    """The share of the wanted words that lines have."""
    words, text = _longest(set(_WORD.findall("\n".join(wanted)))), "\n".join(found)
    return sum(word in text for word in words) / len(words)


def _longest(words: Set[str]) -> list[str]:
    """The longest of the words; each of them is looked for in what may be a very long line."""
    return sorted(words, key=len)[-_SOUGHT:]


def _scores(lines: Sequence[str], wanted: Sequence[str]) -> tuple[list[float], frozenset[str]]:
    """What each line has in common with the wanted ones, and the wanted words that there are."""
    words = set(_WORD.findall("\n".join(wanted)))
    same = {" ".join(line.split()) for line in wanted} - {""}
    having: dict[str, list[int]] = defaultdict(list)
    alike: dict[int, str] = {}
    for number, line in enumerate(lines):
        for word in words.intersection(_WORD.findall(line)):
            having[word].append(number)
        if (plain := " ".join(line.split())) in same:
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
    """The line, or the part of a long one around the rarest of the wanted words in it."""
    if len(line) <= LINE_CHARS:
        return line
    likely = [word for word in _longest(words) if word in line]
    rarest = min(likely, key=line.count, default="")
    start = max(line.find(rarest) - LINE_CHARS // 4, 0)
    end = start + LINE_CHARS
    return f"{_CUT if start else ''}{line[start:end]}{_CUT if end < len(line) else ''}"
