"""Programs of the user's desktop: clipboard tools. Started by their name and arguments, never through a shell."""

import subprocess
from collections.abc import Sequence

# Seconds; a tool that takes longer waits for something that is not there, such as a display.
_TOOL_S = 3.0


def run_tool(command: Sequence[str], data: bytes) -> bool:
    """Run a program with this input, and return whether it succeeded. Waits up to three seconds for it."""
    try:
        # A group of its own, so that a tool that stays in the background survives Ctrl+C and the end of the app.
        ended = subprocess.run(
            command,
            input=data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TOOL_S,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0
