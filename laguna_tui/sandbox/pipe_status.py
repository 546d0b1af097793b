"""How each command of the last pipe in a shell command ended, as bash reports it.

A shell's exit code is that of a pipe's last command, so `pytest | tail` succeeds whatever the tests say. `pipefail`
would change what commands do: with it, `seq 1000000 | grep -q 5` fails. Instead bash writes `PIPESTATUS` to a pipe of
ours when it exits. It reads the trap that does this from the file in `BASH_ENV`; the command itself is unchanged.
"""

import os
import re
import sys
import tempfile

_SCRIPT = """\
trap '{ echo "${PIPESTATUS[@]}" >&%d; } 2>/dev/null' EXIT
eval "exec ${BASH_ENV##*/}<&-"
unset BASH_ENV
"""
_REPORT = re.compile(rb"\d{1,3}(?: \d{1,3})*\n")
_REPORT_BYTES = 4096


class PipeStatus:
    """The report of one bash command.

    Attributes:
        inherited: descriptors that bash must inherit under the same numbers.
        variables: additions to its environment.
    """

    def __init__(self) -> None:
        """Prepare for one command.

        Raises:
            OSError: no descriptor can be made.
        """
        self._reading, report = os.pipe()
        os.set_blocking(self._reading, False)
        self.inherited: tuple[int, ...] = (report,)
        try:
            script = _script(_SCRIPT % report)
        except OSError:
            self.close()
            raise
        self.inherited = (report, script)
        self.variables = {"BASH_ENV": f"/dev/fd/{script}"}

    def close(self) -> tuple[int, ...]:
        """Return the exit codes of the last pipe's commands if bash has ended and reported them, else nothing."""
        try:
            text = os.read(self._reading, _REPORT_BYTES)
        except BlockingIOError:
            text = b""
        for descriptor in (self._reading, *self.inherited):
            os.close(descriptor)
        return tuple(map(int, text.split())) if _REPORT.fullmatch(text) else ()


def _script(text: str) -> int:
    """Return a descriptor to read a short script from."""
    if sys.platform != "linux":
        # The bash of macOS reads no script from a pipe.
        with tempfile.TemporaryFile() as file:
            file.write(text.encode())
            file.seek(0)
            return os.dup(file.fileno())
    # Under Landlock a command inherits nothing but pipes.
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    return reading
