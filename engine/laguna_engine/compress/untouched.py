"""What must not be shortened because every line of it counts: diffs, and what a program said when it failed."""

import re

_DIFF = re.compile(r"^(?:diff --git |--- [^\n]+\n\+\+\+ |Index: |@@ -\d+(?:,\d+)? \+\d+)", re.MULTILINE)
_DIFF_SUFFIXES = (".diff", ".patch")
_SNIFF_CHARS = 4096
_ERROR = re.compile(
    r"^Traceback \(most recent call last\)"
    r"|^\s*File \"[^\"\n]{1,400}\", line \d+"
    r"|^\s{0,8}(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Warning)\b(?::|$)"
    r"|^\s*at \S[^\n]{0,300}:\d+"
    r"|\b(?:error|fatal|panic|panicked at|FAILED|FATAL|ERROR|Segmentation fault)\b(?:\[\w+\])?(?::|,| )",
    re.MULTILINE,
)


def is_diff(path: str, text: str) -> bool:
    """Whether a text is a patch, by its name or by how it begins."""
    return path.lower().endswith(_DIFF_SUFFIXES) or bool(
        _DIFF.match(text) or (_DIFF.search(text, 0, _SNIFF_CHARS) and "\n@@ -" in text)
    )


def tells_of_failure(text: str) -> bool:
    """Whether a piece of prose or of a log has a line that reports an error."""
    return _ERROR.search(text) is not None
