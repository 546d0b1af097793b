"""Which grammar a path has, and which version of it is installed; loads none of them."""

import sys
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path

from laguna_tui.repo.syntax.languages import language_suffix
from laguna_tui.repo.syntax.tag_queries import LANGUAGE_OF, TAGS

_METADATA = (".dist-info", ".egg-info")


def language_name(path: str) -> str | None:
    """Return the language of a path's suffix, if there may be a grammar for it."""
    return LANGUAGE_OF.get(language_suffix(path))


@cache
def fingerprints() -> Mapping[str, str]:
    """Return a fingerprint of each language's grammar and queries: with another one, its files must be parsed again.

    Reads the versions of the installed packages without loading them.
    """
    versions = _installed()
    core = versions.get("tree_sitter", "")
    return {
        name: blake2b(repr((core, versions.get(tags.module, ""), *tags)).encode(), digest_size=8).hexdigest()
        for name, (tags, _) in TAGS.items()
    }


def _installed() -> dict[str, str]:
    """Versions of tree-sitter and its grammars, by module: packages are named like their modules.

    From the names of the metadata folders (PEP 376); importing `importlib.metadata` takes longer than a search.
    """
    found: dict[str, str] = {}
    # Not the working folder, which an empty part of the path is.
    for folder in filter(None, sys.path):
        try:
            entries = list(Path(folder).iterdir())
        except OSError:
            continue
        for entry in entries:
            module, dash, rest = entry.name.partition("-")
            if dash and module.startswith("tree_sitter") and rest.endswith(_METADATA):
                found.setdefault(module, rest.rpartition(".")[0])
    return found
