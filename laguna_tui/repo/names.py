r"""File names that cannot stand in a line of text: bytes that are no UTF-8, newlines and other control characters.

They are shown as `\xNN`, and read back from that.
"""

import os
import re

# Undecodable bytes (as `surrogateescape` keeps them), C0, DEL, C1 and Unicode's line separators.
_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\udc80-\udcff]")
_SHOWN = re.compile(rb"\\x([0-9a-f]{2})")


def shown(path: str) -> str:
    r"""The path on one line and encodable, each odd byte as `\xNN`."""
    return _ODD.sub(lambda match: "".join(f"\\x{byte:02x}" for byte in os.fsencode(match.group())), path)


def meant(path: str) -> str:
    r"""The path that `shown` made this of; a name that really has `\xNN` in it comes back wrong.

    Raises:
        ValueError: the path has characters that no file name has.
    """
    return os.fsdecode(_SHOWN.sub(lambda match: bytes([int(match[1], 16)]), os.fsencode(path)))
