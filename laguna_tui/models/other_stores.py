"""Finds GGUFs that other programs have downloaded, and those in ~/models, to be opened in place. Reads headers only."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from laguna_engine.errors import ModelFileError
from laguna_engine.files import read_small_file
from laguna_engine.gguf import header
from laguna_engine.gguf.split import part_names, title_of

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


class Stores(NamedTuple):
    """The folders in which other programs and the user have models; `hub` is the cache of huggingface_hub."""

    ollama: Path
    lm_studio: tuple[Path, ...]
    llama_cpp: Path
    hub: Path
    own: Path

    @property
    def shown(self) -> tuple[str, ...]:
        """The folders, for the user."""
        return tuple(map(str, (self.ollama, *self.lm_studio, self.llama_cpp, self.hub, self.own)))


def other_stores(home: Path | None = None) -> Stores:
    """Return where to look. home: the user's home folder; None for this process's."""
    base = home or Path.home()
    caches = base / "Library" / "Caches" if sys.platform == "darwin" else base / ".cache"
    hub = Path(os.environ["HF_HOME"]) / "hub" if "HF_HOME" in os.environ else base / ".cache" / "huggingface" / "hub"
    return Stores(
        Path(os.environ["OLLAMA_MODELS"]) if "OLLAMA_MODELS" in os.environ else base / ".ollama" / "models",
        (base / ".lmstudio" / "models", base / ".cache" / "lm-studio" / "models"),
        Path(os.environ["LLAMA_CACHE"]) if "LLAMA_CACHE" in os.environ else caches / "llama.cpp",
        Path(os.environ["HF_HUB_CACHE"]) if "HF_HUB_CACHE" in os.environ else hub,
        base / "models",
    )


def found_files(home: Path | None = None) -> tuple[FoundFile, ...]:
    """Return the model files of other programs, by owner and title, each once. home: as of `other_stores`."""
    stores = other_stores(home)
    found = [list(islice(_ollama(stores.ollama), _MOST))]
    found.append([each for store in stores.lm_studio for each in islice(_ggufs(store, 3, "LM Studio"), _MOST)])
    found.append(list(islice(_ggufs(stores.llama_cpp, 1, "llama.cpp"), _MOST)))
    found.append(_snapshots(stores.hub))
    found.append(list(islice(_ggufs(stores.own, 3, "~/models"), _MOST)))
    once: dict[tuple[int, int], FoundFile] = {}
    for each in (each for files in found for each in sorted(files, key=attrgetter("title"))):
        # Two names of Ollama for one blob, links, and a file of the cache that another folder links to.
        with suppress(OSError):
            there = each.path.stat()
            once.setdefault((there.st_dev, there.st_ino), each)
    return tuple(once.values())


def why_unusable(path: Path) -> str:
    """Return why a model file cannot be opened to chat, without its path; empty if its header allows it."""
    try:
        header.check_chat(path)
    except ModelFileError as error:
        return str(error).removeprefix(f"{path}: ")
    return ""


def _ggufs(store: Path, depth: int, owner: str) -> Iterator[FoundFile]:
    """Yield the files of a store, at most `depth` folders down; the first part stands for a model in parts."""
    for path in islice(_below(store, depth), _LOOKED_AT):
        name = path.name.lower()
        first = path.name == part_names(path.name)[0]
        if name.endswith(".gguf") and first and not name.startswith("mmproj"):
            yield from _found(path, title_of(path), owner)


def _snapshots(store: Path) -> list[FoundFile]:
    """Return the files in the snapshots of the hub's cache, each once: models--OWNER--NAME/snapshots/COMMIT/FILE."""
    with suppress(OSError):
        folders = [path / "snapshots" for path in store.iterdir() if path.name.startswith("models--")]
        found = islice((each for folder in sorted(folders) for each in _ggufs(folder, 3, "the hub's cache")), _MOST)
        return list(found)
    return []


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
        parts = (path.with_name(name) for name in part_names(path.name))
        yield FoundFile(path, title, owner, sum(part.stat().st_size for part in parts if part.exists()))


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the files at most `depth` folders below; links to folders are not followed."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.is_dir(follow_symlinks=False) and depth > 1:
                yield from _below(Path(entry.path), depth - 1)
            elif entry.is_file():
                yield Path(entry.path)
