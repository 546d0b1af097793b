"""Shows what differs from the recorded transcripts: `python -m tests.agent_transcripts [--update]`."""

import difflib
import sys

from tests.agent_transcripts.transcript import RECORDED, SCENARIOS, file_of, transcript


def main() -> int:
    """Compare, or write with `--update`; 0 if nothing differs."""
    update, differs = "--update" in sys.argv, 0
    if update:
        for path in RECORDED.glob("*.txt"):
            path.unlink()
    for name, task in SCENARIOS.items():
        found, path = transcript(task), file_of(name)
        if update:
            path.write_text(found, encoding="utf-8")
            continue
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        lines = difflib.unified_diff(before.splitlines(True), found.splitlines(True), f"{name}, recorded", "now")
        told = "".join(lines)
        differs += bool(told)
        print(told, end="")
    return min(differs, 1)


if __name__ == "__main__":
    sys.exit(main())
