"""Programs of the user's desktop: clipboard tools, and editors with a window. Nothing is run through a shell."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

# Seconds; a tool that takes longer waits for something that is not there, such as a display.
_TOOL_S = 3.0
# Seconds in which a program that cannot work, without a display for example, has ended.
_STARTING_S = 1.0
_running: list[subprocess.Popen[bytes]] = []


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


def start_detached(command: Sequence[str], folder: Path) -> int:
    """Start a program that outlives the app. Returns its exit code if it ends at once, else 0.

    Raises:
        OSError: it cannot be started.
    """
    _running[:] = [process for process in _running if process.poll() is None]
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(
        command, cwd=folder, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
    )
    _running.append(process)
    try:
        return process.wait(_STARTING_S)
    except subprocess.TimeoutExpired:
        return 0
