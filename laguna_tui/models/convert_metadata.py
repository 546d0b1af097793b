"""A converted drafter's metadata: what it is, how it is computed, where it comes from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from laguna_engine.ggml.gguf_writer import Written
from laguna_engine.gguf.quantization import FILE_TYPES, KINDS, QUANTIZATION_VERSION
from laguna_tui import __version__
from laguna_tui.models.convert_config import DrafterConfig

_CARD = "README.md"
_MAX_CARD = 1 << 16
_LICENCE = re.compile(r"^(license|license_name): *[\"']?([\w.-]{1,60})", re.MULTILINE | re.ASCII)
"""`license_name` is there where `license` is only "other"."""

_CACHED = "models--"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a drafter comes from, as far as that is known; it becomes part of the new file.

    repository: "owner/name" on the hub. revision: a commit. licence: its name. sha256: of files, by name, where they
    are known already; the others are computed.
    """

    repository: str = ""
    revision: str = ""
    licence: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> "Provenance":
        """What a folder tells by itself: its place in the hub's cache, and the licence on its card."""
        place = folder.resolve()
        name = place.parent.parent.name
        licence = _licence(folder / _CARD)
        if place.parent.name == "snapshots" and name.startswith(_CACHED):
            return cls(name.removeprefix(_CACHED).replace("--", "/"), place.name, licence)
        return cls(licence=licence)


def _licence(card: Path) -> str:
    """What the first lines of a card say, between its two rows of dashes; empty if they say nothing."""
    try:
        with card.open(encoding="utf-8", errors="replace") as file:
            block = file.read(_MAX_CARD).removeprefix("---\n").partition("\n---")[0]
    except OSError:
        return ""
    found: dict[str, str] = dict(_LICENCE.findall(block))
    return found.get("license_name") or found.get("license", "")


def identity(kind: str, provenance: Provenance) -> dict[str, Written]:
    """What the file is and where it comes from, without a date: the same drafter gives the same bytes."""
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


def description(design: DrafterConfig) -> dict[str, Written]:
    """The hyperparameters, under the names that llama.cpp and `laguna_engine.gguf.drafter_header` read."""
    found: dict[str, Written] = {
        "context_length": design.n_ctx,
        "embedding_length": design.n_embd,
        "block_count": design.n_layer,
        "feed_forward_length": design.n_ff,
        "attention.head_count": design.heads,
        "attention.head_count_kv": design.kv_heads,
        "attention.key_length": design.head_size,
        "attention.value_length": design.head_size,
        "attention.layer_norm_rms_epsilon": design.epsilon,
        "attention.causal": design.causal if len(set(design.causal)) > 1 else design.causal[0],
        "rope.freq_base": design.rope_base,
        "rope.dimension_count": design.rope_dims,
        "vocab_size": design.n_vocab,
        "block_size": design.block,
        # Named by the layer that would read it next.
        "target_layers": tuple(tap + 1 for tap in design.taps),
        "context_kv_layer_norm": design.laguna,
    }
    if design.window:
        found |= {"attention.sliding_window": design.window, "attention.sliding_window_pattern": design.sliding}
    return {
        **{f"dflash.{key}": value for key, value in found.items()},
        "tokenizer.ggml.mask_token_id": design.mask_id,
    }
