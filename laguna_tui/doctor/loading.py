"""Run as a program: loads the installed llama.cpp, and says in one line of JSON what it is made of, what it sees, and
which of its kernels for this processor crash.

In a process of its own, because a build for another processor dies of it, and one with a hung driver never ends.
"""

import json
import sys

_KINDS = ("cpu", "gpu", "igpu", "accel")
"""`ggml_backend_dev_type`, by number."""


def main() -> int:
    """Print {"error": …} or what `laguna_tui.doctor.library.Loaded` holds; returns the exit code."""
    from laguna_engine.errors import EngineError

    try:
        told = found()
    except EngineError as error:
        told = {"error": str(error)}
    sys.stdout.write(json.dumps(told) + "\n")
    return 0


def found() -> dict[str, object]:
    """What it is made of and what it sees, as JSON-able values. EngineError when it does not load."""
    from laguna_engine.ggml import extra_buffers
    from laguna_engine.native.library import lib

    devices = [lib.ggml_backend_dev_get(index) for index in range(lib.ggml_backend_dev_count())]
    registries = [lib.ggml_backend_reg_get(index) for index in range(lib.ggml_backend_reg_count())]
    return {
        "backends": [lib.ggml_backend_reg_name(registry).decode("utf-8", "replace") for registry in registries],
        "faults": extra_buffers.faults(),
        "features": lib.llama_print_system_info().decode("utf-8", "replace"),
        "devices": [
            {
                "name": lib.ggml_backend_dev_description(device).decode("utf-8", "replace"),
                "kind": _KINDS[kind] if 0 <= (kind := lib.ggml_backend_dev_type(device)) < len(_KINDS) else "other",
            }
            for device in devices
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
