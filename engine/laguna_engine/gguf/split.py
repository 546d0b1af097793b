"""Names of the files of a model that is split into several: `NAME-00001-of-00003.gguf` (`llama_split_path`)."""

import re
from pathlib import Path

_PART = re.compile(r"(?P<stem>.*)-(?P<number>[0-9]{5})-of-(?P<count>[0-9]{5})\.gguf", re.IGNORECASE | re.DOTALL)

MAX_PARTS = 1024
"""More than a model of 50 TB has in parts of 50 GB, the hub's limit of a file."""


def part_of(name: str) -> tuple[int, int] | None:
    """Return the number of a part, from 1, and the count of parts; None for another file."""
    found = _PART.fullmatch(name)
    if found is None or not 1 <= int(found["number"]) <= int(found["count"]) <= MAX_PARTS:
        return None
    return int(found["number"]), int(found["count"])


def part_names(name: str) -> tuple[str, ...]:
    """Return the names of all parts of the model that `name` is a part of, in order; `name` alone for another file."""
    found = _PART.fullmatch(name)
    if found is None or part_of(name) is None:
        return (name,)
    ending = name[found.end("count") :]
    return tuple(
        f"{found['stem']}-{number:05}-of-{found['count']}{ending}" for number in range(1, int(found["count"]) + 1)
    )


def title_of(path: Path) -> str:
    """Return a file's name without its ending, and without the number of a part."""
    found = _PART.fullmatch(path.name)
    return found["stem"] if found is not None and part_of(path.name) is not None else path.stem
