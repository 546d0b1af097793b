"""The release's workflow, which only GitHub runs: valid, its scripts sound, and all that it names is there."""

import fnmatch
import itertools
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_manual import TOP

WORKFLOW = TOP / ".github/workflows/release.yml"
JOBS: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
SCRIPTS = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]
PROGRAM = re.compile(r"(?:/python|\(PYTHON\)) ((?:packaging/(?!build_progress)|-m tests\.install)[^\n|]+)")
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


def waits_for(name: str) -> set[str]:
    """The jobs that end before a job begins."""
    needs = JOBS[name].get("needs", [])
    direct = {needs} if isinstance(needs, str) else set(needs)
    return direct.union(*map(waits_for, direct))


def used(name: str, action: str) -> Iterator[dict[str, Any]]:
    """What a job gives to an action, each time that it uses it."""
    for step in JOBS[name]["steps"]:
        if step.get("uses", "").startswith(f"actions/{action}@"):
            yield step["with"]


def matrix_keys(job: dict[str, Any]) -> set[str]:
    matrix = job.get("strategy", {}).get("matrix", {})
    return {*matrix, *itertools.chain.from_iterable(matrix.get("include", []))} - {"include"}


def alternatives(pattern: str) -> list[str]:
    """A pattern's `{a,b}` written out."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    return (
        [pattern[: found.start()] + each + pattern[found.end() :] for each in found[1].split(",")]
        if found
        else [pattern]
    )


def test_github_takes_it_for_a_workflow():
    run = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", WORKFLOW],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("script", SCRIPTS)
def test_shellcheck_finds_nothing_in_its_scripts(script: str):
    program = Path(sys.executable).with_name("shellcheck")
    text = "#!/bin/bash -e\n" + EXPRESSION.sub("value", script)
    run = subprocess.run([program, "-"], input=text, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


def test_the_rules_of_make_that_it_calls_are_there():
    rules = set(re.findall(r"^([a-z-]+):", (TOP / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    called = {
        word for script in SCRIPTS for words in re.findall(r"\bmake ([a-z -]+)", script) for word in words.split()
    }
    assert called
    assert called <= rules


@pytest.mark.parametrize("name", JOBS)
def test_what_a_job_does_is_a_target_of_make_and_the_rest_sets_the_machine_up(name: str):
    scripts = [step["run"] for step in JOBS[name]["steps"] if "run" in step]
    calls = [script for script in scripts if re.search(r"\bmake [a-z]", script)]
    assert calls
    assert [each for each in scripts if each not in calls and not re.match(r"(sudo apt-get|dnf) ", each)] == []


@pytest.mark.parametrize("called", sorted(set(re.findall(r"make ([a-z][^'\n]+)", "\n".join(SCRIPTS)))))
def test_make_runs_its_targets_anywhere(called: str):
    words = shlex.split(re.sub(r"\$\w+", "value", EXPRESSION.sub("value", called)))
    run = subprocess.run(["make", "--dry-run", *words], cwd=TOP, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("called", sorted(set(PROGRAM.findall((TOP / "Makefile").read_text(encoding="utf-8")))))
def test_the_programs_that_make_calls_know_their_options(called: str):
    program = re.split(r" --| \$", called)[0].split()
    run = subprocess.run(
        [sys.executable, *program, "--help"], cwd=TOP, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert set(re.findall(r"(--[a-z-]+)", called)) <= set(re.findall(r"(--[a-z-]+)", run.stdout))


@pytest.mark.parametrize("name", JOBS)
def test_every_value_that_a_job_names_is_given(name: str):
    keys = matrix_keys(JOBS[name])
    text = yaml.safe_dump({key: value for key, value in JOBS[name].items() if key != "strategy"})
    named = set(re.findall(r"\bmatrix\.(\w+)", text))
    assert named <= keys
    assert JOBS.keys() >= waits_for(name)


@pytest.mark.parametrize("name", JOBS)
def test_what_a_job_downloads_was_uploaded_by_one_that_it_waits_for(name: str):
    uploaded = [
        EXPRESSION.sub("value", given["name"]) for job in waits_for(name) for given in used(job, "upload-artifact")
    ]
    for given in used(name, "download-artifact"):
        for wanted in alternatives(given.get("name", given.get("pattern", ""))):
            assert fnmatch.filter(uploaded, wanted), wanted


def test_it_tests_every_python_that_is_promised():
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert promised
    assert set(promised) <= set(JOBS["test"]["strategy"]["matrix"]["python"])


def test_nothing_is_published_before_all_of_it_was_tested():
    tested = {"test", "build", "from-sdist", "installer", "on-a-card"}
    assert waits_for("publish") == tested | {"wheels", "plugins", "vulkan"}


def test_every_action_is_pinned_by_its_commit_with_the_version_beside_it():
    used = re.findall(r"uses: (.+)", WORKFLOW.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    assert len({action.split("@")[0] for action in used}) == len(set(used)), "one action in two versions"
