"""What keys and values depend on besides the tokens: a snapshot with another identity is not used."""

import os
import re
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from laguna_engine.config import EngineInfo, Speculation
from laguna_engine.errors import SnapshotError, SnapshotProblem
from laguna_engine.native.library import ggml_version, system_info
from laguna_engine.native.selftest import BINDING_VERSION

_HEAD_BYTES = 16 << 20
"""Bytes of the model file that are always hashed: all of its metadata, with vocabulary and chat template."""

_SAMPLES, _SAMPLE_BYTES = 64, 64 << 10
"""Samples of the weights that are hashed: hashing 20 GB would take longer than what a snapshot saves."""

_ROTATION = "LLAMA_ATTN_ROT_DISABLE"
"""The environment variable with which llama.cpp does not rotate what it quantizes."""


class Identity(Struct, frozen=True, forbid_unknown_fields=True):
    """The engine that wrote a snapshot.

    Attributes:
        model: hash of the model file's size, metadata (vocabulary and template included) and samples of its weights.
        build: releases of llama.cpp's binding and of ggml; with strict speculation also what of the processor it uses.
        kv: type of the KV cache, and whether llama.cpp rotates it.
        exact: whether strict speculation computed it, with the kernels that it needs.
        context: tokens of context; does not change keys and values.
    """

    model: str
    build: str
    kv: str
    exact: bool
    context: int

    def require(self, found: "Identity") -> None:
        """Raise SnapshotError unless a snapshot that is `found` can be used here."""
        if found.model != self.model:
            raise SnapshotError(SnapshotProblem.MODEL, "it belongs to another model file")
        if found.build != self.build:
            raise SnapshotError(SnapshotProblem.BUILD, f"it was written with {found.build}, this is {self.build}")
        if found.kv != self.kv:
            raise SnapshotError(SnapshotProblem.CACHE, f"its KV cache is {found.kv}, this one is {self.kv}")
        if found.exact != self.exact:
            mode = "with" if found.exact else "without"
            raise SnapshotError(SnapshotProblem.MODE, f"it was computed {mode} strict speculation")


def identity_of(parts: Sequence[Path], info: EngineInfo) -> Identity:
    """Return the identity of an open engine; OSError if a file of the model cannot be read any more."""
    states = [(path, path.stat()) for path in parts]
    hashes = [_fingerprint(path, state.st_size, state.st_mtime_ns) for path, state in states]
    rotation = "" if not os.environ.get(_ROTATION) else " without rotation"
    exact = info.speculation is Speculation.STRICT
    # Builds for other processors sum in another order, which changes the last bits.
    kernels = re.findall(r"(\w+) = 1", system_info()) if exact else []
    return Identity(
        model=hashes[0] if len(hashes) == 1 else blake2b("".join(hashes).encode(), digest_size=16).hexdigest(),
        build=" ".join([f"llama-cpp-python {BINDING_VERSION} (ggml {ggml_version()})", *kernels]),
        kv=info.kv_type.value + rotation,
        exact=exact,
        context=info.n_ctx,
    )


@cache
def _fingerprint(path: Path, size: int, _mtime: int) -> str:
    digest = blake2b(size.to_bytes(8, "little"), digest_size=16)
    with path.open("rb", buffering=0) as file:
        digest.update(file.read(_HEAD_BYTES))
        for sample in range(_SAMPLES):
            file.seek(max(0, size - _SAMPLE_BYTES) * (sample + 1) // _SAMPLES)
            digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()
