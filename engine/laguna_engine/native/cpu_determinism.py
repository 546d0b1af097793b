"""ggml's choice of CPU kernels, as far as a process can fix it: once, before the first computation.

The tiled matrix kernels round by the width of the batch. `GGML_CPU_TILED_MM=0` turns them off; ggml reads it at the
first product and never again (`ggml-cpu/tiled/tiled.cpp`). The tiled flash attention and BLAS round differently too,
and cannot be turned off: they are chosen by the number of rows, so few enough rows avoid them.
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
    """Have products round the same at every width from now on; False if it is too late for that in this process."""
    if _chosen is None:
        os.environ[_SWITCH] = _OFF
    note_use()
    return _chosen == _OFF


def can_fix_kernels() -> bool:
    """Whether `use_fixed_kernels` would still succeed, or has. Loads nothing."""
    return _chosen in (None, _OFF)


def fixed_rows(device_kinds: Iterable[str]) -> int:
    """Most rows that one computation on the CPU may have if each is to round as it does alone with one other.

    Args:
        device_kinds: `Device.kind` of every device that llama.cpp uses; "accel" is BLAS.
    """
    return _ROWS_WITHOUT_BLAS if "accel" in device_kinds else _UNTILED_ROWS


def note_use() -> None:
    """Something is about to be computed: what the environment says now is what holds."""
    global _chosen
    if _chosen is None:
        _chosen = os.environ.get(_SWITCH, "1")
