"""llama.cpp's own server tests, unmodified, against our server: `python -m tests.clients llama-cpp FOLDER`.

They come with the sdist of the llama-cpp-python that this project pins, and start our server by `llama_server.py`.
"""

import os
import re
import socket
import subprocess
import sys
import tarfile
from pathlib import Path
from xml.etree import ElementTree

from tests.clients.programs import pip

ROOT = Path(__file__).parents[2]
README = ROOT / "tests" / "app" / "server" / "README.md"
TESTS, TEMPLATES = "tools/server/tests", "models/templates"
TEST_S, SUITE_S = 300, 2 * 3600
FILES = (
    *("basic", "chat_completion", "compat_anthropic", "compat_oai_responses", "completion", "ctx_shift", "ignore_eos"),
    *("kv_keep_only_active", "metrics", "security", "slot_save", "speculative", "stream", "template", "tokenize"),
    "tool_call",
)
"""The others are about what this server lacks: embeddings, reranking, images, adapters, several models, pages."""


def pinned() -> str:
    """The pinned release, as pip names it."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'"(llama-cpp-python==[^"]+)"', text)
    assert found is not None
    return found[1]


def sources(folder: Path) -> Path:
    """The tests as llama.cpp has them, unless they are there already."""
    tests = folder / TESTS
    if not tests.is_dir():
        download = ["download", pinned(), "--no-binary", "llama-cpp-python", "--no-deps", "--dest", str(folder)]
        subprocess.run([sys.executable, "-m", "pip", *download], check=True)
        with tarfile.open(next(folder.glob("llama_cpp_python-*.tar.gz"))) as archive:
            for member in archive.getmembers():
                _, _, name = member.name.partition("/vendor/llama.cpp/")
                if name.startswith((TESTS, TEMPLATES)):
                    member.name = name
                    archive.extract(member, folder, filter="data")
    return tests


def results(tests: Path, python: Path, work: Path) -> dict[str, dict[str, list[bool]]]:
    """Whether each test passed with each of its parameters, by file and name."""
    server, report = work / "llama-server", work / "report.xml"
    server.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tests.clients.llama_server "$@"\n')
    server.chmod(0o755)
    environment = {
        **os.environ,
        "LLAMA_SERVER_BIN_PATH": str(server),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "engine")]),
        "PORT": str(_free_port()),
    }
    line = [
        str(python),
        "-m",
        "pytest",
        *(f"unit/test_{name}.py" for name in FILES),
        "-m",
        "not slow",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--junitxml={report}",
    ]
    chosen = [*line, "--timeout", str(TEST_S), "--timeout-method", "signal", *sys.argv[3:]]
    subprocess.run(chosen, cwd=tests, env=environment, timeout=SUITE_S, check=False)
    found: dict[str, dict[str, list[bool]]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("skipped") is None:
            file = case.attrib["classname"].split(".")[1].removeprefix("test_")
            name = case.attrib["name"].partition("[")[0].removeprefix("test_")
            passed = case.find("failure") is None and case.find("error") is None
            found.setdefault(file, {}).setdefault(name, []).append(passed)
    return found


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def stated() -> dict[str, set[str]]:
    """The tests that the README says pass, by file."""
    text = README.read_text(encoding="utf-8").partition("## llama.cpp's tests, unmodified")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \|", text, re.MULTILINE)
    return {file: set(re.findall(r"`([^`]+)`", names)) for file, names in rows}


def llama_cpp(installed: Path, work: Path) -> bool:
    """llama.cpp's tests: those pass that the README names, and no others."""
    folder = installed / "llama-cpp"
    tests = sources(folder)
    programs = pip(folder / "python", "pytest-timeout", "-r", str(tests / "requirements.txt"))
    found = results(tests, programs / "python", work)
    passed: dict[str, set[str]] = {}
    for file, names in sorted(found.items()):
        passed[file] = {
            name if all(each) else f"{name} ({sum(each)} of {len(each)})" for name, each in names.items() if any(each)
        }
        print(f"| `{file}` | {', '.join(f'`{name}`' for name in sorted(passed[file]))} | {len(names)} |")
    return bool(found) and {f: n for f, n in passed.items() if n} == {f: n for f, n in stated().items() if n}
