"""The conversation as a Markdown file on disk."""

import os
import time
from pathlib import Path

from laguna_tui.tui.transcript import reading
from laguna_tui.tui.transcript.document import Document


def write_chat(document: Document, folder: Path, when: time.struct_time) -> Path:
    """Write the chat into a new file in `folder` and return its path. Never writes over a file.

    Raises:
        OSError: the folder cannot be written to.
    """
    text = reading.to_markdown(document, f"laguna-tui, {time.strftime('%Y-%m-%d %H:%M', when)}")
    return write_new(folder, time.strftime("laguna-chat-%Y%m%d-%H%M%S", when), ".md", text)


def write_new(folder: Path, stem: str, suffix: str, text: str) -> Path:
    """Write a text into a new private file, named after `stem`, and return its path. Never writes over a file.

    Raises:
        OSError: the folder cannot be written to.
    """
    number = 0
    while True:
        path = folder / f"{stem}{f'-{number}' if number else ''}{suffix}"
        try:
            # A chat may quote private code: only its owner may read it.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        return path
