"""A converted drafter's GGUF metadata: identity, provenance and hyperparameters."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from laguna_engine.files import read_small_file
from laguna_engine.ggml.gguf_writer import Written
from laguna_engine.gguf.quantization import FILE_TYPES, KINDS, QUANTIZATION_VERSION
from laguna_tui import __version__
from laguna_tui.models.convert_config import DrafterConfig

_CARD = "README.md"
_MAX_CARD, _CARD_BYTES = 1 << 16, 1 << 24
_LICENCE = re.compile(r"^(license|license_name): *[\"']?([\w.-]{1,60})", re.MULTILINE | re.ASCII)
"""`license_name` is set where `license` is only "other"."""

_CACHED = "models--"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Origin of a drafter, as far as it is known; stored in the new file.

    Attributes:
        repository: "owner/name" on the hub.
        revision: A commit.
        licence: Its name.
        sha256: Known hashes of source files by name; the others are computed.
    """

    repository: str = ""
    revision: str = ""
    licence: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_folder(cls, folder: Path) -> "Provenance":
        """Derive it from a folder: its path in the hub's cache, and the licence on its model card."""
        place = folder.resolve()
        name = place.parent.parent.name
        licence = _licence(folder / _CARD)
        if place.parent.name == "snapshots" and name.startswith(_CACHED):
            return cls(name.removeprefix(_CACHED).replace("--", "/"), place.name, licence)
        return cls(licence=licence)


def _licence(card: Path) -> str:
    """The licence in a card's front matter; empty without one."""
    try:
        text = read_small_file(card, _CARD_BYTES).decode("utf-8", "replace")[:_MAX_CARD]
    except OSError:
        return ""
    block = text.removeprefix("---\n").partition("\n---")[0]
    found: dict[str, str] = dict(_LICENCE.findall(block))
    return found.get("license_name") or found.get("license", "")


def identity(kind: str, provenance: Provenance) -> dict[str, Written]:
    """Identity and provenance, without a date: the same drafter gives the same bytes."""
    found: dict[str, Written] = {
        "general.architecture": "dflash",
        "general.type": "model",
        "general.license": provenance.licence,
        "laguna_tui.converted.by": f"laguna-tui {__version__}",
        "laguna_tui.converted.from": provenance.repository,
        "laguna_tui.converted.revision": provenance.revision,
        "laguna_tui.converted.sha256": "\n".join(f"{digest}  {name}" for name, digest in provenance.sha256.items()),
        "general.file_type": FILE_TYPES[kind],
    }
    if kind in KINDS:
        found["general.quantization_version"] = QUANTIZATION_VERSION
    return {key: value for key, value in found.items() if value != ""}


def description(config: DrafterConfig) -> dict[str, Written]:
    """The hyperparameters, under the keys that llama.cpp and `laguna_engine.gguf.drafter_header` read."""
    found: dict[str, Written] = {
        "context_length": config.n_ctx,
        "embedding_length": config.n_embd,
        "block_count": config.n_layer,
        "feed_forward_length": config.n_ff,
        "attention.head_count": config.heads,
        "attention.head_count_kv": config.kv_heads,
        "attention.key_length": config.head_size,
        "attention.value_length": config.head_size,
        "attention.layer_norm_rms_epsilon": config.epsilon,
        "attention.causal": config.causal if len(set(config.causal)) > 1 else config.causal[0],
        "rope.freq_base": config.rope_base,
        "rope.dimension_count": config.rope_dims,
        "vocab_size": config.n_vocab,
        "block_size": config.block,
        # Each tap is numbered by the layer that reads it next.
        "target_layers": tuple(tap + 1 for tap in config.taps),
        "context_kv_layer_norm": config.laguna,
    }
    if config.window:
        found |= {"attention.sliding_window": config.window, "attention.sliding_window_pattern": config.sliding}
    return {
        **{f"dflash.{key}": value for key, value in found.items()},
        "tokenizer.ggml.mask_token_id": config.mask_id,
    }
