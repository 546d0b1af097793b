"""Runs one program: `python -m tests.clients NAME [FOLDER]`.

NAME is editor, opencode, mini-swe-agent, aider, llama-cpp, inspect-ai, lm-eval, evalplus or harbor.
FOLDER keeps what is installed.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.app.acp.pipe_client import user_files
from tests.app.server.serving import scripted
from tests.clients.evaluators import EVALUATORS
from tests.clients.llama_cpp_tests import llama_cpp
from tests.clients.programs import npm, pip, run, was_asked
from tests.scripted_model import Seen, Turn, call, say, think
from tests.scripted_model.ask import command

HERE = Path(__file__).parent
BEFORE, AFTER = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"
CONTEXT = 32_768

EDITOR_SCRIPT = """
from tests.scripted_model import call, say, think
SCRIPT = [
    say(think("a and b"), call("read", path="add.py")),
    call("edit", path="add.py", old="a - b", new="a + b"),
    "It adds now.",
]
"""


def shop(folder: Path) -> Path:
    """A repository with a mistake in it."""
    made = folder / "shop"
    made.mkdir()
    (made / "add.py").write_text(BEFORE)
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        own = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *own, *arguments], cwd=made, check=True)
    return made


def editor(installed: Path, work: Path) -> bool:
    """The protocol's library for TypeScript."""
    npm(installed / "editor", "@agentclientprotocol/sdk")
    shutil.copy(HERE / "editor.mjs", installed / "editor" / "editor.mjs")
    folder = shop(work)
    script = work / "script.py"
    script.write_text(EDITOR_SCRIPT)
    agent = command(script, "acp", "--context", str(CONTEXT), "--thinking")
    line = ["node", "editor.mjs", str(folder), "fix add", *agent]
    done = run(line, installed / "editor", user_files(work))
    found = json.loads(done.stdout)
    print(json.dumps(found, indent=2))
    return found["text"] == "It adds now." and found["stopReason"] == "end_turn" and _is_fixed(folder)


def opencode(installed: Path, work: Path) -> bool:
    """opencode, with its own tools."""
    npm(installed / "opencode", "opencode-ai")
    folder = shop(work)

    def script(seen: Seen) -> Turn:
        if "title" in seen.text[-3000:].lower() and "add.py" not in seen.text:
            return say("Fixing add")
        if "It adds now" in seen.text or "a + b" in (folder / "add.py").read_text():
            return say("It adds now.")
        if "return a - b" not in seen.text:
            return say(think("I read it."), call("read", filePath=str(folder / "add.py")))
        return call("edit", filePath=str(folder / "add.py"), oldString="a - b", newString="a + b")

    with scripted(work, script, context=CONTEXT) as server:
        limits = {"context": CONTEXT, "output": 4096}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{server.url}/v1", "apiKey": server.token},
            "models": {"scripted": {"name": "scripted", "limit": limits}},
        }
        config = {"provider": {"laguna": provider}, "permission": {"edit": "allow"}, "autoupdate": False}
        (folder / "opencode.json").write_text(json.dumps(config))
        program = installed / "opencode" / "node_modules" / ".bin" / "opencode"
        done = run([str(program), "run", "--model", "laguna/scripted", "fix add in add.py"], folder, user_files(work))
        print(done.stdout[-2000:], done.stderr[-2000:])
        return "It adds now." in done.stdout + done.stderr and _is_fixed(folder) and was_asked(server)


def mini_swe_agent(installed: Path, work: Path) -> bool:
    """mini-swe-agent, which has one tool: a shell."""
    # What it calls models with imports `mcp` without asking for it.
    programs = pip(installed / "mini-swe-agent", "mini-swe-agent", "mcp")
    folder = shop(work)
    fix = f"sed -i 's/a - b/a + b/' {folder}/add.py"
    submit = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

    def script(seen: Seen) -> Turn:
        line = submit if _is_fixed(folder) else fix
        if "<available_tools>" in seen.text:
            return say("I change it.", call("bash", command=line))
        return say(f"I change it.\n\n```mswea_bash_command\n{line}\n```")

    with scripted(work, script, context=CONTEXT) as server:
        environment = {
            **user_files(work),
            "OPENAI_API_BASE": f"{server.url}/v1",
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "OPENAI_API_KEY": server.token,
            # No prices are looked up on the network.
            "LITELLM_LOCAL_MODEL_COST_MAP": "true",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_MODEL_NAME": "openai/scripted",
        }
        line = [str(programs / "mini"), "--yolo", "--exit-immediately", "-m", "openai/scripted", "-t", "fix add.py"]
        done = run(line, folder, environment)
        print(done.stdout[-3000:], done.stderr[-2000:])
        return _is_fixed(folder) and was_asked(server)


def aider(installed: Path, work: Path) -> bool:
    """aider, which writes edits as text."""
    programs = pip(installed / "aider", "aider-chat")
    folder = shop(work)
    edit = f"add.py\n```python\n<<<<<<< SEARCH\n{BEFORE}=======\n{AFTER}>>>>>>> REPLACE\n```\n"

    def script(seen: Seen) -> Turn:
        return say(edit if "SEARCH" in seen.text else "fix: add adds")

    with scripted(work, script, context=CONTEXT) as server:
        quiet = ["--yes-always", "--no-check-update", "--no-analytics", "--no-show-model-warnings"]
        what = ["--model", "openai/scripted", "--edit-format", "diff", "--message", "fix add", "add.py"]
        line = [str(programs / "aider"), *quiet, *what]
        environment = {
            **user_files(work),
            "OPENAI_API_BASE": f"{server.url}/v1",
            "OPENAI_API_KEY": server.token,
        }
        done = run(line, folder, environment)
        print(done.stdout[-3000:], done.stderr[-2000:])
        return _is_fixed(folder) and was_asked(server)


def _is_fixed(folder: Path) -> bool:
    return (folder / "add.py").read_text() == AFTER


PROGRAMS: dict[str, Callable[[Path, Path], bool]] = {
    "editor": editor,
    "opencode": opencode,
    "mini-swe-agent": mini_swe_agent,
    "aider": aider,
    "llama-cpp": llama_cpp,
    **EVALUATORS,
}


def main() -> int:
    """Run the program that is named; 0 if it did what it should."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in PROGRAMS:
        print(__doc__)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        installed = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(scratch) / "installed"
        work = Path(scratch) / "work"
        work.mkdir()
        right = PROGRAMS[name](installed.absolute(), work)
    print(f"{name}: {'right' if right else 'WRONG'}")
    return 0 if right else 1


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    sys.exit(main())
