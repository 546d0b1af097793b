"""Selects CPU kernels whose rounding does not depend on the batch width. Takes effect once per process.

The rounding of the tiled matrix kernels depends on the batch width. `GGML_CPU_TILED_MM=0` disables them; ggml reads it
at the first matrix product only (`ggml-cpu/tiled/tiled.cpp`). Tiled flash attention and BLAS round differently too and
cannot be disabled, but they are chosen by the number of rows, so small batches avoid them.
"""

import os
from collections.abc import Iterable

_SWITCH = "GGML_CPU_TILED_MM"
_OFF = "0"
_chosen: str | None = None

_UNTILED_ROWS = 63
"""Flash attention is tiled from 64 query rows on (`GGML_FA_TILE_Q`)."""

_ROWS_WITHOUT_BLAS = 31
"""ggml's BLAS backend takes products from 32 rows on (`min_batch` in `ggml-blas.cpp`)."""


def use_fixed_kernels() -> bool:
    """Make matrix products round the same at every batch width; False if it is too late for this process."""
    if _chosen is None:
        os.environ[_SWITCH] = _OFF
    note_use()
    return _chosen == _OFF


def can_fix_kernels() -> bool:
    """Return whether `use_fixed_kernels` would succeed, or has. Loads nothing."""
    return _chosen in (None, _OFF)


def fixed_rows(device_kinds: Iterable[str]) -> int:
    """Return the largest batch on the CPU in which every row rounds as in a batch of two.

    Args:
        device_kinds: `Device.kind` of every device that llama.cpp uses; "accel" is BLAS.
    """
    return _ROWS_WITHOUT_BLAS if "accel" in device_kinds else _UNTILED_ROWS


def note_use() -> None:
    """Call before the first computation: fixes the setting at the environment's current value."""
    global _chosen
    if _chosen is None:
        _chosen = os.environ.get(_SWITCH, "1")
