"""Programs that give a model a score: each is to find the score that the scripted model has."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from laguna_tui.cli.acp import editor_entry
from tests.app.acp.pipe_client import user_files
from tests.app.server.serving import scripted
from tests.clients.programs import pip, run, was_asked
from tests.scripted_model import Seen, Turn, call, say
from tests.scripted_model.ask import command

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


def lm_eval(installed: Path, work: Path) -> bool:
    """lm_eval: four sums, three of which have the answer that is said."""
    programs = pip(installed / "lm-eval", "lm_eval[api]==0.4.13")
    tasks = HERE / "lm_eval_tasks"

    def script(seen: Seen) -> Turn:
        first, second = map(int, re.findall(r"\d+", seen.user))
        return say(f"It is {first + second}\nSo it is.")

    with scripted(work, script) as server:
        environment = {
            **user_files(work),
            "OPENAI_API_KEY": server.token,
            "HF_HUB_OFFLINE": "1",
            "HF_HOME": str(work / "hf"),
        }
        address = f"model=scripted,base_url={server.url}/v1/chat/completions,num_concurrent=2"
        model = ["--model", "local-chat-completions", "--model_args", address, "--apply_chat_template"]
        where = ["--tasks", "sums", "--include_path", str(tasks), "--output_path", str(work / "out")]
        done = run([str(programs / "lm_eval"), *model, *where], tasks, environment)
        print(done.stdout[-3000:], done.stderr[-3000:])
        results = json.loads(next((work / "out").rglob("results_*.json")).read_text())
        found = results["results"]["sums"]["exact_match,number"]
        print(found)
        return found == 0.75 and was_asked(server)


def evalplus(installed: Path, work: Path) -> bool:
    """evalplus: one answer passes all tests, one only HumanEval's own, one none."""
    programs = pip(installed / "evalplus", "evalplus==0.3.1")
    answers = {
        "double": "return 2 * number",
        "absolute": "return number",
        "longest": "return words[0]",
    }

    def script(seen: Seen) -> Turn:
        signature = next(line for line in seen.user.splitlines() if line.startswith("def "))
        name = signature.removeprefix("def ").partition("(")[0]
        return say(f"```python\n{signature}\n    {answers[name]}\n```")

    with scripted(work, script) as server:
        environment = {
            **user_files(work),
            "OPENAI_API_KEY": server.token,
            "HUMANEVAL_OVERRIDE_PATH": str(HERE / "humaneval.jsonl"),
        }
        model = ["--model", "scripted", "--backend", "openai", "--base-url", f"{server.url}/v1", "--greedy"]
        line = [str(programs / "evalplus.evaluate"), "--dataset", "humaneval", "--root", str(work / "out"), *model]
        done = run(line, work, environment)
        print(done.stdout[-3000:], done.stderr[-2000:])
        results = json.loads(next((work / "out").rglob("*_eval_results.json")).read_text())
        found = {each["task_id"]: (each["base_status"], each["plus_status"]) for (each,) in results["eval"].values()}
        print(found)
        right = {
            "HumanEval/0": ("pass", "pass"),
            "HumanEval/1": ("pass", "fail"),
            "HumanEval/2": ("fail", "fail"),
        }
        return found == right and was_asked(server)


HARBOR_SCRIPT = """
from tests.scripted_model import call, say
SCRIPT = [call("read", path="add.py"), call("edit", path="add.py", old="a - b", new="a + b"), "It adds now."]
"""


def harbor(installed: Path, work: Path) -> bool:
    """Harbor, without Docker: its `nop` gets no reward, its `oracle` does, and so does its ACP agent with our entry."""
    programs = pip(installed / "harbor", "harbor==0.25.0", "agent-client-protocol==0.12.1", python="python3.12")
    script, entry = work / "script.py", work / "laguna.json"
    script.write_text(HARBOR_SCRIPT)
    agent = command(script, "acp", "--context", "32768")
    # No prices are looked up on the network.
    own = {**user_files(work), "LITELLM_LOCAL_MODEL_COST_MAP": "true"}
    variables = [f"{name}={own[name]}" for name in own if name.startswith("XDG_") or name in ("HOME", "PYTHONPATH")]
    entry.write_text(editor_entry("harbor", "env", [*variables, *agent])[0])
    agents = {
        "nop": ["--agent", "nop"],
        "oracle": ["--agent", "oracle"],
        "acp": ["--agent", "tests.clients.harbor_local:InstalledAcpAgent", "--ak", f"registry_entry_path={entry}"],
    }
    found = {}
    for name, flags in agents.items():
        task = ["--path", str(HERE / "harbor_task"), "--env", "tests.clients.harbor_local:BubblewrapEnvironment"]
        line = [str(programs / "harbor"), "run", *task, *flags, "--jobs-dir", str(work / name), "--yes"]
        done = run(line, work, own)
        print(done.stdout[-2000:], done.stderr[-2000:])
        trial = json.loads(next((work / name).glob("*/*/result.json")).read_text())
        found[name] = (trial["verifier_result"]["rewards"]["reward"], trial["exception_info"])
    steps = json.loads(next((work / "acp").glob("*/*/agent/trajectory.json")).read_text())["steps"]
    called = [each["function_name"] for step in steps for each in step.get("tool_calls", [])]
    print(found, called)
    rewards = {"nop": (0, None), "oracle": (1, None), "acp": (1, None)}
    return found == rewards and called == ["read", "edit"] and steps[-1]["message"] == "It adds now."


EVALUATORS: dict[str, Callable[[Path, Path], bool]] = {
    "inspect-ai": inspect_ai,
    "lm-eval": lm_eval,
    "evalplus": evalplus,
    "harbor": harbor,
}
"""What runs each."""
