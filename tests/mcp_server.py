"""A real MCP server over stdio for tests. How it behaves is its first argument.

`plain` offers three tools; `runs` offers one that runs a command; `other` offers different ones; `hangs` never answers;
`dies` ends in the middle of a call; `floods` sends without being asked, `complains` writes errors without end; `silent`
does not even answer the first message; `crashes` ends at once; `cuts` answers with half a character; `stops` can be
stopped, or not; `works` reports progress; `waits` starts once there is a file `go`.
"""

import asyncio
import os
import subprocess
import sys
import time
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
    if HOW == "stops":
        return await stop_or_not(text)
    if HOW == "works":
        for step in range(30):
            await asyncio.sleep(0.1)
            await context.session.report_progress(step)
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


async def stop_or_not(text: str) -> types.CallToolResult:
    if text != "pid":
        Path("waiting").touch()
    if text == "block":
        time.sleep(600)
    if text == "wait":
        try:
            await asyncio.sleep(600)
        finally:
            Path("cancelled").touch()
    return types.CallToolResult(content=[types.TextContent(type="text", text=str(os.getpid()))])


async def main() -> None:
    if HOW == "crashes":
        sys.exit("no such database")
    if HOW == "silent":
        await asyncio.sleep(600)
    while HOW == "waits" and not Path("go").exists():
        await asyncio.sleep(0.02)
    server = Server("tests", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
