"""An MCP server that speaks the protocol by hand, as the library would not. How it behaves is its first argument.

`odd` offers `echo` among tools that break the protocol; `says` answers with the result that it is given, as JSON;
`pages` has ten pages of tools; `repeats` repeats a page without end; `marked` begins with a byte order mark; `closes`
closes its output in a call.
"""

import json
import os
import sys
import time
from typing import Any

HOW = sys.argv[1] if __name__ == "__main__" else ""
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def odd_tools() -> list[dict[str, Any]]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    many = {"type": "object", "properties": {f"p{at}": {} for at in range(200)}}
    return [
        {"name": "echo", "inputSchema": schema, "outputSchema": {"type": "nothing"}, "annotations": 5, "icons": "no"},
        {"name": None, "inputSchema": schema},
        {"name": "no_schema"},
        {"name": "many", "inputSchema": many},
        {"name": "surrogate", "description": "\ud800", "inputSchema": {"type": "object", "properties": {"\ud800": {}}}},
        {"name": "large", "inputSchema": {"type": "object", "properties": {"a": {"maximum": "N"}}}},
        {"name": "nested", "inputSchema": {"type": "object", "properties": {"a": {"default": "D"}}}},
    ]


def listed(cursor: str | None) -> dict[str, Any]:
    """A page of tools."""
    if HOW == "odd":
        return {"tools": odd_tools()}
    if HOW == "pages":
        page = int(cursor or 0)
        names = [f"t{at:03}" for at in range(30 * page, 30 * page + 30)]
        return {"tools": [{"name": name, "inputSchema": TEXT} for name in names]} | (
            {"nextCursor": str(page + 1)} if page < 9 else {}
        )
    more = {"nextCursor": "again"} if HOW == "repeats" else {}
    return {"tools": [{"name": "echo", "inputSchema": TEXT}], **more}


def called(text: str) -> Any:
    """The result of a call."""
    if HOW == "closes":
        os.close(1)
        time.sleep(600)
    return json.loads(text) if HOW == "says" else {"content": [{"type": "text", "text": text}]}


def serve() -> None:
    """Answer one message after the other."""
    odd = {'"N"': "9" * 5000, '"D"': "[" * 300 + "]" * 300}
    started = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "", "version": ""},
    }
    for line in sys.stdin:
        message = json.loads(line)
        params = message.get("params") or {}
        match message.get("method"):
            case "initialize":
                result = started
            case "tools/list":
                result = listed(params.get("cursor"))
            case "tools/call":
                result = called(params["arguments"]["text"])
            case _:
                continue
        text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        for placeholder, what in odd.items():
            text = text.replace(placeholder, what)
        mark = "\ufeff" if HOW == "marked" and result is started else ""
        os.write(1, f"{mark}{text}\n".encode())


if __name__ == "__main__":
    serve()
