"""Reads what bash reports when it exits: how each command of its last pipe ended, and how many processes still run.

A shell's exit code is that of a pipe's last command, so `pytest | tail` succeeds whatever the tests say. `pipefail`
would change what commands do: with it, `seq 1000000 | grep -q 5` fails. Instead bash writes `PIPESTATUS` to a pipe of
ours when it exits. It reads the trap that does this from the file in `BASH_ENV`; the command itself is unchanged.

In a PID namespace the kernel ends what is left as soon as the shell has ended, so only the shell itself can count it.
"""

import os
import re
import sys
import tempfile
from typing import NamedTuple

_SCRIPT = """\
trap '{
  echo "${PIPESTATUS[@]}"
  set -- 0
  for p in /proc/[0-9]*/exe; do
    [[ $p == "/proc/1/exe" || $p == "/proc/$$/exe" || ! -e $p ]] || set -- $(($1 + 1))
  done
  echo "$1"
} >&%d 2>/dev/null' EXIT
eval "exec ${BASH_ENV##*/}<&-"
unset BASH_ENV
"""
_REPORT = re.compile(rb"(\d{1,3}(?: \d{1,3})*)\n(\d{1,5})\n")
_REPORT_BYTES = 4096


class ShellEnd(NamedTuple):
    """How a shell ended.

    Attributes:
        pipe: Exit codes of the commands in its last pipe; empty if it did not report them.
        others: How many other processes run in its PID namespace.
    """

    pipe: tuple[int, ...] = ()
    others: int = 0


class ShellReport:
    """The report of one bash command.

    Attributes:
        inherited: Descriptors that bash must inherit under the same numbers.
        variables: Additions to its environment.
    """

    def __init__(self) -> None:
        """Prepare for one command.

        Raises:
            OSError: No descriptor can be made.
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

    def close(self) -> ShellEnd:
        """Return what bash has reported, if it has ended."""
        try:
            text = os.read(self._reading, _REPORT_BYTES)
        except BlockingIOError:
            text = b""
        for descriptor in (self._reading, *self.inherited):
            os.close(descriptor)
        found = _REPORT.fullmatch(text)
        return ShellEnd(tuple(map(int, found[1].split())), int(found[2])) if found else ShellEnd()


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
