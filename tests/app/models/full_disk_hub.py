"""The child of a download on a disk that is full after 128 KiB."""

import errno
import os

from laguna_engine.native.child import serve
from laguna_tui.models import hub_requests


class FullDisk:
    """A partial file, written up to a limit."""

    def __init__(self, file) -> None:
        self._file = file

    def __getattr__(self, name: str):
        return getattr(self._file, name)

    def write(self, data) -> int:
        if self._file.tell() >= 128 << 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._file.write(data[: 16 << 10])


if __name__ == "__main__":
    write_all = hub_requests._write_all
    hub_requests._write_all = lambda response, file, remote: write_all(response, FullDisk(file), remote)
    serve(hub_requests.answer)
