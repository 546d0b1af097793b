"""The process that matches patterns which may never end; whoever started it kills it when the time is up.

Runs on its own (`python -I regex_worker.py`), imports nothing of the project. Each line of standard input is a JSON
value, the first the pattern, then lists of lines; each answer is a JSON list of [index, start, end].
"""

import json
import re
import sys


def main() -> None:
    """Answer lists of lines with the first match in each line, until standard input ends."""
    pattern = re.compile(json.loads(sys.stdin.readline()))
    for request in sys.stdin:
        found = ((index, pattern.search(line)) for index, line in enumerate(json.loads(request)))
        sys.stdout.write(json.dumps([[index, *match.span()] for index, match in found if match]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
