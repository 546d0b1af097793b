"""Finds GGUFs that Ollama and LM Studio have downloaded, to be opened in place. Reads names only; opens no model."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from pathlib import Path

from laguna_engine.files import read_small_file

_MOST = 64
"""Models of one store that are listed."""
_LOOKED_AT = 20_000
_MANIFEST_BYTES = 1 << 20
_MODEL_LAYER = "application/vnd.ollama.image.model"
_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A model file of another program. title: what that calls it; owner: the program; size: bytes."""

    path: Path
    title: str
    owner: str
    size: int


def found_files(home: Path | None = None) -> tuple[FoundFile, ...]:
    """Return the model files of other programs, by owner and title.

    home: the user's home folder; None for this process's.
    """
    base = home or Path.home()
    ollama = Path(os.environ["OLLAMA_MODELS"]) if "OLLAMA_MODELS" in os.environ else base / ".ollama" / "models"
    stores = (base / ".lmstudio" / "models", base / ".cache" / "lm-studio" / "models")
    studio = (each for store in stores for each in islice(_lm_studio(store), _MOST))
    return (*sorted(islice(_ollama(ollama), _MOST), key=attrgetter("title")), *sorted(studio, key=attrgetter("title")))


def _lm_studio(store: Path) -> Iterator[FoundFile]:
    """Yield LM Studio's files, publisher/model/file.gguf; the first part stands for a model in parts."""
    for path in islice(_below(store, 3), _LOOKED_AT):
        name = path.name.lower()
        whole = "-of-" not in name or "-00001-of-" in name
        if name.endswith(".gguf") and whole and not name.startswith("mmproj"):
            yield from _found(path, path.stem, "LM Studio")


def _ollama(store: Path) -> Iterator[FoundFile]:
    """Yield Ollama's models: a manifest for each, which names a blob."""
    manifests = store / "manifests"
    for path in islice(_below(manifests, 5), _LOOKED_AT):
        with suppress(OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
            layers = json.loads(read_small_file(path, _MANIFEST_BYTES))["layers"]
            digest = next(str(each["digest"]) for each in layers if each.get("mediaType") == _MODEL_LAYER)
            kind, _, number = digest.partition(":")
            if kind != "sha256" or not number.isalnum():
                continue
            parts = path.relative_to(manifests).parts
            shown = f"{'/'.join(parts[1:-1]).removeprefix('library/')}:{parts[-1]}"
            yield from _found(store / "blobs" / f"sha256-{number}", shown, "Ollama")


def _found(path: Path, title: str, owner: str) -> Iterator[FoundFile]:
    # A blob is named by a manifest; it may be missing, or anything.
    with suppress(OSError):
        if not path.is_file():
            return
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return
        yield FoundFile(path, title, owner, path.stat().st_size)


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the files at most `depth` folders below; links to folders are not followed."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.is_dir(follow_symlinks=False) and depth > 1:
                yield from _below(Path(entry.path), depth - 1)
            elif entry.is_file():
                yield Path(entry.path)
