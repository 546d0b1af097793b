"""A real MCP server over stdio for tests. How it behaves is its first argument.

`plain` offers three tools; `runs` offers one that runs a command; `odd` offers `echo` among tools that
break the protocol; `other` offers different ones; `hangs` never answers; `dies` ends in the middle of a call;
`floods` sends without being asked, `complains` writes errors without end; `silent` does not even answer the first
message; `crashes` ends at once; `cuts` answers with half a character.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server

# The library puts something else into the place of standard output.
OUT = os.dup(1)
HOW = sys.argv[1] if len(sys.argv) > 1 else "plain"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [
    types.Tool(name="echo", description="Say it again.\x1b[31m", input_schema=TEXT),
    types.Tool(name="write file!", description="Write text to note.txt.", input_schema=TEXT),
    types.Tool(name="variables", description="Names of variables.", input_schema={"type": "object"}),
]

CUT = b'{"jsonrpc": "2.0", "id": %s, "result": {"content": [{"type": "text", "text": "half %s"}]}}\n'
HALVES = {"escaped": b"\\ud83d", "bytes": b"\xf0\x9f"}


RUN = types.Tool(name="run", description="Run a command.", input_schema=TEXT)


async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
    if HOW == "runs":
        return types.ListToolsResult(tools=[RUN])
    return types.ListToolsResult(tools=TOOLS[:1] if HOW == "other" else TOOLS)


async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:  # noqa: C901, a way to fail each
    text = (params.arguments or {}).get("text", "")
    if HOW == "hangs":
        await asyncio.sleep(600)
    if HOW == "dies":
        sys.stderr.write("out of luck\n")
        sys.stderr.flush()
        os._exit(3)
    if HOW == "complains":
        while True:
            sys.stderr.write("x" * 100_000)
    if HOW == "floods":
        line = b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "'
        while True:
            os.write(OUT, line + b"x" * 100_000 + b'"}}\n')
    if HOW == "cuts":
        # The library cannot send half a character; other servers' libraries do.
        os.write(OUT, CUT % (str(context.request_id).encode(), HALVES[text]))
        await asyncio.sleep(600)
    if params.name == "write file!":
        Path("note.txt").write_text(text)
        said = "written"
    elif params.name == "run":
        done = subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
    elif params.name == "variables":
        said = " ".join(sorted(os.environ))
    else:
        said = f"{text}\x1b]0;title\x07" * (1 if len(text) < 100 else 1000)
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)])


def serve_oddly() -> None:
    """Speak the protocol by hand: the library lists no such tools."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    many = {"type": "object", "properties": {f"p{at}": {} for at in range(200)}}
    tools = [
        {"name": "echo", "inputSchema": schema, "outputSchema": {"type": "nothing"}, "annotations": 5, "icons": "no"},
        {"name": None, "inputSchema": schema},
        {"name": "no_schema"},
        {"name": "many", "inputSchema": many},
        {"name": "surrogate", "description": "\ud800", "inputSchema": {"type": "object", "properties": {"\ud800": {}}}},
        {"name": "large", "inputSchema": {"type": "object", "properties": {"a": {"maximum": "N"}}}},
        {"name": "nested", "inputSchema": {"type": "object", "properties": {"a": {"default": "D"}}}},
    ]
    odd = {'"N"': "9" * 5000, '"D"': "[" * 300 + "]" * 300}
    started = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "", "version": ""},
    }
    for line in sys.stdin:
        message = json.loads(line)
        called = {"content": [{"type": "text", "text": message.get("params", {}).get("arguments", {}).get("text", "")}]}
        results = {"initialize": started, "tools/list": {"tools": tools}, "tools/call": called}
        if message.get("method") in results:
            text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]})
            for placeholder, what in odd.items():
                text = text.replace(placeholder, what)
            print(text, flush=True)


async def main() -> None:
    if HOW == "crashes":
        sys.exit("no such database")
    if HOW == "silent":
        await asyncio.sleep(600)
    server = Server("tests", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    serve_oddly() if HOW == "odd" else asyncio.run(main())
