"""The conversation as a Markdown file on disk."""

import time
from pathlib import Path

from laguna_tui.errors import write_new
from laguna_tui.tui.transcript import reading
from laguna_tui.tui.transcript.document import Document


def write_chat(document: Document, folder: Path, when: time.struct_time) -> Path:
    """Write the chat into a new file in `folder` and return its path. Never writes over a file.

    Raises:
        OSError: the folder cannot be written to.
    """
    text = reading.to_markdown(document, f"laguna-tui, {time.strftime('%Y-%m-%d %H:%M', when)}")
    return write_new(folder, time.strftime("laguna-chat-%Y%m%d-%H%M%S", when), ".md", text)
