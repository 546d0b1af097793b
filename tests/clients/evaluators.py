"""Programs that give a model a score: each is to find the score that the scripted model has."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.app.acp.pipe_client import user_files
from tests.app.server.serving import scripted
from tests.clients.programs import pip, run, was_asked
from tests.scripted_model import Seen, Turn, call, say

HERE = Path(__file__).parent


def inspect_ai(installed: Path, work: Path) -> bool:
    """inspect-ai: a task whose target is said, one whose target is not, one with a tool."""
    programs = pip(installed / "inspect-ai", "inspect-ai==0.3.285", "openai==3.54.0")

    def script(seen: Seen) -> Turn:
        if "Multiply" not in seen.text:
            return say("The answer is 42")
        if seen.result:
            return say(f"The answer is {seen.result}")
        return say(call("multiply", first=6789, second=4321))

    with scripted(work, script) as server:
        environment = {
            **user_files(work),
            "LAGUNA_BASE_URL": f"{server.url}/v1",
            "LAGUNA_API_KEY": server.token,
        }
        model = ["--model", "openai-api/laguna/scripted", "--display", "plain"]
        logs = ["--log-dir", str(work / "logs"), "--log-format", "json"]
        line = [str(programs / "inspect"), "eval", "sums.py", *model, *logs]
        done = run(line, HERE / "inspect_tasks", environment)
        print(done.stdout[-3000:], done.stderr[-2000:])
        found = {}
        for each in (work / "logs").glob("*.json"):
            log = json.loads(each.read_text())
            found[log["eval"]["task"]] = log["results"]["scores"][0]["metrics"]["accuracy"]["value"]
        print(found)
        return found == {"said": 1.0, "unsaid": 0.0, "called": 1.0} and was_asked(server)


EVALUATORS: dict[str, Callable[[Path, Path], bool]] = {"inspect-ai": inspect_ai}
"""What runs each."""
