"""`python -m tests.recorded NAME`: see `recording`."""

import sys
import tempfile
from pathlib import Path

from tests.recorded.recording import FOLDER, record

with tempfile.TemporaryDirectory() as base:
    record(FOLDER / sys.argv[1], Path(base).resolve())
