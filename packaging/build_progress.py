"""Shortens the output of `pip install --verbose`: `make` pipes the build through this.

Compiling llama.cpp prints thousands of lines. This shows what is being installed, the compiler's progress on one line,
and the end of the log if the build fails. Exits with 1 if the log ends in an error, because a pipe hides pip's exit
code.
"""

import collections
import re
import sys

STEP = re.compile(r"^\s*\[\s*(\d+)/(\d+)\]")
WORTH_SHOWING = re.compile(r"^(Collecting|Building wheel|Successfully|ERROR|error:)", re.IGNORECASE)
# Lines of the log that are shown if the build fails.
TAIL = 60


def main() -> int:
    """Copy the relevant lines of stdin to stdout. Returns the exit code."""
    tail: collections.deque[str] = collections.deque(maxlen=TAIL)
    in_place = sys.stdout.isatty()
    succeeded = False
    shown_tenth = -1
    for line in sys.stdin:
        tail.append(line)
        succeeded = succeeded or line.startswith("Successfully installed")
        step = STEP.match(line)
        if step:
            done, total = int(step[1]), int(step[2])
            if in_place:
                sys.stdout.write(f"\rcompiling llama.cpp: {done} of {total} files ")
            elif done * 10 // total != shown_tenth:
                shown_tenth = done * 10 // total
                sys.stdout.write(f"compiling llama.cpp: {done} of {total} files\n")
        elif WORTH_SHOWING.match(line):
            sys.stdout.write(("\n" if in_place and step else "") + line[:200].rstrip() + "\n")
        sys.stdout.flush()
    if not succeeded:
        sys.stdout.write("".join(tail) + "\nThe installation failed; the lines above say why.\n")
    return 0 if succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
