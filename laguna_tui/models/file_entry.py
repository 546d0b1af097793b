"""The entry of a model file that is not in the catalogue, from what its header says."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from laguna_engine.errors import ModelFileError
from laguna_engine.gguf.laguna import ARCHITECTURE
from laguna_engine.gguf.split import title_of
from laguna_tui.base.schema import declarations
from laguna_tui.base.settings import Settings
from laguna_tui.base.text import sanitize_line
from laguna_tui.models.entry import ModelEntry

DEFAULT_CONTEXT = 8192
"""Tokens of context of a model for which none are named: they fit any machine."""
_LLAMA_CPP: Mapping[str, float] = {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
"""The defaults of llama.cpp."""
_KEYS = {
    "temp": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "penalty_repeat": "repeat_penalty",
}
"""Settings by their keys in a header, after `general.sampling.` (`LLM_KV_GENERAL_SAMPLING_*`)."""
_BLOB = re.compile(r"sha256-[0-9a-f]{64}")
"""Matches the name of a file of Ollama."""
_TITLE_CELLS = 60


def file_entry(path: Path, laguna: ModelEntry) -> ModelEntry:
    """Return the entry of a model file. laguna: An entry whose sampling a Laguna of any name has."""
    metadata = _metadata(path)
    title = title_of(path)
    named = metadata.get("general.name")
    if _BLOB.fullmatch(path.name) and isinstance(named, str) and named.strip():
        title = sanitize_line(named).strip()[:_TITLE_CELLS]
    licence = metadata.get("general.license")
    is_laguna = metadata.get("general.architecture", ARCHITECTURE) == ARCHITECTURE
    sampling = {**(laguna.sampling if is_laguna else _LLAMA_CPP), **dict(_sampling(metadata))}
    return ModelEntry(
        title,
        title,
        "a local model file",
        thinking=True,
        context=DEFAULT_CONTEXT,
        sampling=sampling,
        license=sanitize_line(licence)[:_TITLE_CELLS] if isinstance(licence, str) else "",
    )


def _metadata(path: Path) -> Mapping[str, object]:
    from laguna_engine.gguf import header

    try:
        return header.read_unchecked(path).metadata
    except ModelFileError:
        # Reported when it is opened.
        return {}


def _sampling(metadata: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    known = declarations(Settings)
    for key, setting in _KEYS.items():
        value = metadata.get(f"general.sampling.{key}")
        if isinstance(value, float):
            value = round(value, 4)
        if setting == "top_k" and isinstance(value, int):
            # -1 is all.
            value = max(0, value)
        if isinstance(value, int | float) and not isinstance(value, bool) and not known[setting].wrong(value):
            yield setting, value
