"""ggml's choice of CPU kernels, as far as a process can fix it: once, before the first computation.

The tiled matrix kernels round by the width of the batch. `GGML_CPU_TILED_MM=0` turns them off; ggml reads it at the
first product and never again (`ggml-cpu/tiled/tiled.cpp`).
"""

import os

_SWITCH = "GGML_CPU_TILED_MM"
_OFF = "0"
_chosen: str | None = None


def use_fixed_kernels() -> bool:
    """Have products round the same at every width from now on; False if it is too late for that in this process."""
    if _chosen is None:
        os.environ[_SWITCH] = _OFF
    note_use()
    return _chosen == _OFF


def note_use() -> None:
    """Something is about to be computed: what the environment says now is what holds."""
    global _chosen
    if _chosen is None:
        _chosen = os.environ.get(_SWITCH, "1")
