"""A real MCP server over stdio for tests. How it behaves is its first argument.

`plain` offers three tools; `other` offers different ones; `hangs` never answers; `dies` ends in the middle of a call;
`floods` sends without being asked, `complains` writes errors without end; `silent` does not even answer the first
message; `crashes` ends at once.
"""

import asyncio
import os
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


async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=TOOLS[:1] if HOW == "other" else TOOLS)


async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
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
    if params.name == "write file!":
        Path("note.txt").write_text(text)
        said = "written"
    elif params.name == "variables":
        said = " ".join(sorted(os.environ))
    else:
        said = f"{text}\x1b]0;title\x07" * (1 if len(text) < 100 else 1000)
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)])


async def main() -> None:
    if HOW == "crashes":
        sys.exit("no such database")
    if HOW == "silent":
        await asyncio.sleep(600)
    server = Server("tests", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
