"""Was it for want of memory? Imports nothing, because it is asked before anything is planned."""

import re

from laguna_engine.errors import EngineError

_RAN_OUT = re.compile(r"alloc|out of memory|insufficient memory|enough (free )?memory", re.IGNORECASE)
"""What llama.cpp, ggml and CUDA say when they do not get the memory they ask for."""


def ran_out(error: EngineError) -> bool:
    """Whether it was for want of memory that something could not be opened, or was lost."""
    return _RAN_OUT.search(str(error)) is not None
