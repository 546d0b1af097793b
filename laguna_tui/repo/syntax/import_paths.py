"""Imports that name files or folders rather than definitions: their syntax, and the files they mean.

C's `#include`, Go's packages, Ruby's `require` and the like contain a path or the end of one. An import from outside
the folder (a library, the standard one) means none of its files.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import PurePosixPath
from typing import NamedTuple

# An import that could mean more files says too little about each.
MAX_FILES = 8
IMPORTS_PER_FILE = 200
_PATH_CHARS = 200
# Languages in which a dot separates the parts of an import.
_DOTTED = frozenset({"lua", "swift"})
# Languages in which a local import begins with the folder's name; a single part is the standard library's.
_PREFIXED = frozenset({"go"})
_OUTER = re.compile(r"^[\"'<]+|[\"'>]+$")
# A shell variable at the beginning is an unknown folder.
_LEADING = re.compile(r"^(?:\.{1,2}/|\$\{?\w+\}?/)+")
# Fewer parts of a longer import occur in too many paths by chance.
_LEAST_PARTS = 2


_STATEMENT = re.compile(
    # Python, in brackets or continued
    r"^[ \t]*from[ \t]+\S+[ \t]+import\b(?:[ \t]*\([^)]*\)|(?:[^\n]*\\\n)*[^\n]*)"
    # Python, Java, Go, Swift, Haskell; JavaScript with names in braces, also exported again
    r"|^[ \t]*(?:import|export)\b(?:[^\n;{}()]*\{[^{}()]*\}[ \t]*from\b[^\n]*)"
    r"|^[ \t]*import\b[^\n]*"
    r"|^[ \t]*(?:const|let|var)\b[^=;]*=[ \t]*require\([^\n]*"
    # Rust; C# and PHP on one line
    r"|^[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?use[ \t][^;=()]*;"
    r"|^[ \t]*using[ \t][\w.: ]*;",
    re.MULTILINE,
)


def import_lines(lines: Sequence[str]) -> frozenset[int]:
    """Return the numbers, from 1, of the lines of import statements, by their look alone."""
    text = "\n".join(lines)
    found: set[int] = set()
    number = at = 0
    for match in _STATEMENT.finditer(text):
        number += text.count("\n", at, match.start())
        at = match.start()
        found.update(range(number + 1, number + 2 + match.group().count("\n")))
    return frozenset(found)


def import_path(language: str, written: str) -> str:
    """Return the path of an import from its text, without quotes and leading folders; may be empty."""
    bare = _OUTER.sub("", written.strip()).replace("\\", "/")
    if language in _DOTTED:
        bare = bare.replace(".", "/")
    path = _LEADING.sub("", bare).strip("/")[:_PATH_CHARS]
    return "" if language in _PREFIXED and "/" not in path else path


class _NamedFile(NamedTuple):
    """A file under one of the names that imports may give it; `parts` end with that name."""

    file: int
    parts: tuple[str, ...]


class ImportPaths:
    """The files of a folder, to be looked up by what imports of them say."""

    def __init__(self, files: Mapping[int, str]) -> None:
        """Take the files that may be imported: their paths by id."""
        self._folders = {file: PurePosixPath(path).parent.parts for file, path in files.items()}
        self._places: dict[str, list[_NamedFile]] = {}
        for file, path in files.items():
            folder, name = self._folders[file], PurePosixPath(path).name
            for parts in {(*folder, name), (*folder, name.partition(".")[0]), folder} - {()}:
                self._places.setdefault(parts[-1], []).append(_NamedFile(file, parts))

    def meant(self, path: str, importer: int) -> list[int]:
        """Return the files that an import means, those nearest to the importing file; none when they are too many.

        Args:
            path: Of `import_path`.
            importer: The importing file.
        """
        wanted = tuple(path.split("/"))
        known = self._places.get(wanted[-1], ())
        for parts in _shorter(wanted):
            # The last part alone of a longer import counts at the folder's top only.
            whole = len(parts) < min(_LEAST_PARTS, len(wanted))
            ends = [
                place
                for place in known
                if place.file != importer and (place.parts == parts if whole else place.parts[-len(parts) :] == parts)
            ]
            if ends:
                return self._nearest(ends, importer)
        return []

    def _nearest(self, places: Iterable[_NamedFile], importer: int) -> list[int]:
        here = self._folders.get(importer, ())
        near: dict[int, list[int]] = {}
        for place in places:
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(here, place.parts, strict=False)))
            near.setdefault(shared, []).append(place.file)
        found = sorted(set(near[max(near)]))
        return found if len(found) <= MAX_FILES else []


def _shorter(parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the parts, then fewer of the last ones: an import may begin with the folder's own name."""
    for at in range(len(parts)):
        yield parts[at:]
