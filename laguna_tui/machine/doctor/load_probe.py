"""Run as a program: loads the installed llama.cpp and prints its build, its devices and its crashing CPU kernels.

Prints one line of JSON. It is a process of its own because a build for another processor crashes it, and one with a
hung driver never ends.
"""

import json
import sys


def main() -> int:
    """Print {"error": …} or the fields of `laguna_tui.machine.doctor.llama_build.LlamaBuild`; return the exit code."""
    from laguna_engine.errors import EngineError

    try:
        facts = llama_facts()
    except EngineError as error:
        facts = {"error": str(error)}
    sys.stdout.write(json.dumps(facts) + "\n")
    return 0


def llama_facts() -> dict[str, object]:
    """Return build and devices as JSON-able values. Raises EngineError when llama.cpp does not load."""
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
