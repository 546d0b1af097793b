"""The process that matches patterns which may never end; the one that started it ends it when the time is up.

Requests and answers are JSON: first the pattern, answered with null, then lists of lines, each answered with a list of
[index, start, end] for the first match in each line.

`python -m laguna_tui.repo.regex_worker SECONDS` ends after SECONDS: while a pattern is matched, no other thread runs
that could notice that the process which should end it is gone.
"""

import json
import re
import signal
import sys

from laguna_engine.child import serve


class RegexWorker:
    """Answers requests."""

    def __init__(self) -> None:
        self._pattern: re.Pattern[str] | None = None

    def answer(self, request: bytes) -> bytes:
        """The answer to a request, both as JSON."""
        value = json.loads(request)
        if self._pattern is None:
            self._pattern = re.compile(value)
            return b"null"
        found = ((index, self._pattern.search(line)) for index, line in enumerate(value))
        return json.dumps([[index, *match.span()] for index, match in found if match]).encode()


if __name__ == "__main__":
    signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
    serve(RegexWorker().answer)
