"""Run as a program: loads the installed llama.cpp, and says in one line of JSON what it is made of, what it sees, and
which of its kernels for this processor crash.

In a process of its own, because a build for another processor dies of it, and one with a hung driver never ends.
"""

import json
import sys


def main() -> int:
    """Print {"error": …} or what `laguna_tui.doctor.llama_build.LlamaBuild` holds; returns the exit code."""
    from laguna_engine.errors import EngineError

    try:
        told = llama_facts()
    except EngineError as error:
        told = {"error": str(error)}
    sys.stdout.write(json.dumps(told) + "\n")
    return 0


def llama_facts() -> dict[str, object]:
    """What it is made of and what it sees, as JSON-able values. EngineError when it does not load."""
    from laguna_engine.ggml import extra_buffers
    from laguna_engine.ggml.device import Device
    from laguna_engine.native.library import backend_names, system_info

    return {
        "backends": list(backend_names()),
        "faults": extra_buffers.faults(),
        "features": system_info(),
        "devices": [{"name": device.description, "kind": device.kind} for device in Device.all()],
    }


if __name__ == "__main__":
    sys.exit(main())
