"""The clipboard: what the terminal offers (OSC 52), and the tool of the desktop where there is one.

A terminal does not report whether it took the text; many take it only when their settings allow it, and some never do.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from laguna_tui.tui.user_programs import run_tool

OSC52_BYTES = 74_994
"""The longest text for OSC 52: hterm and others ignore sequences of more than 100,000 characters of base64."""
_CLIP = "clip.exe"
_X11 = (("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input"))
# Since 2.6 tmux ignores the OSC 52 of applications by default, but sends its own to the terminal.
_TMUX = ("tmux", "load-buffer", "-w", "-")


def clipboard_tool(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> tuple[str, ...] | None:
    """Return the command that copies its input; None if there is none. Over SSH the desktop is on another machine."""
    # Imported late: the first screen needs no native code.
    from laguna_engine.native.child import find_program

    tools: list[tuple[str, ...]] = []
    if not any(name in environment for name in ("SSH_CONNECTION", "SSH_TTY")):
        tools += [("pbcopy",)] if platform == "darwin" else []
        tools += [(_CLIP,)] if "WSL_DISTRO_NAME" in environment else []
        tools += [("wl-copy",)] if environment.get("WAYLAND_DISPLAY") else []
        tools += _X11 if environment.get("DISPLAY") else ()
    tools += [_TMUX] if environment.get("TMUX") else []
    path = environment.get("PATH", "")
    found = ((find_program(name, path=path), arguments) for name, *arguments in tools)
    return next(((program, *arguments) for program, arguments in found if program is not None), None)


def copy_with_tool(text: str) -> str:
    """Copy the text with a program. Returns its name; empty if there is none or it failed. May take seconds."""
    tool = clipboard_tool()
    if tool is None:
        return ""
    name = Path(tool[0]).name
    # clip.exe takes anything else for the code page of the console.
    data = text.encode("utf-16-le" if name == _CLIP else "utf-8", "replace")
    return name.removesuffix(".exe") if run_tool(tool, data) else ""
