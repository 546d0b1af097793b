"""New lines from terminals without the kitty keyboard protocol (tmux, GNOME Terminal, xterm).

They send Alt+Enter as ESC CR. Textual 8 drops the ESC and reports a plain Enter, which would send a half-written
message; here the sequence becomes Ctrl+J, the key that always means a new line.
"""

import contextlib

from textual.keys import Keys

#: What textual makes of Shift+Enter in xterm's modifyOtherKeys mode.
SHIFT_ENTER = "shift+\r"


def understand_alt_enter() -> None:
    """Teach textual's table of sequences the one it lacks. Without that table, Ctrl+J still works."""
    with contextlib.suppress(ImportError):
        from textual._ansi_sequences import ANSI_SEQUENCES_KEYS

        if isinstance(ANSI_SEQUENCES_KEYS, dict):
            ANSI_SEQUENCES_KEYS["\x1b\r"] = (Keys.ControlJ,)
