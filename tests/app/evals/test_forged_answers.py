"""Answers that try to be counted as right without being right. The tests of a function run where they cannot reach."""

import json
import shutil
import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.evals import verdict
from laguna_tui.evals.answer_child import decode, encode
from laguna_tui.evals.function_check import FunctionCheck
from laguna_tui.evals.task import CHECK, SOLUTION, load_tasks
from laguna_tui.evals.verdict import check_solution, folder_with
from laguna_tui.sandbox.native.landlock_ruleset import LEAST_ABI, landlock_abi
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus, probe_sandbox
from laguna_tui.sandbox.runner import CommandRunner
from tests.app.sandbox.world import outside_tmp

pytestmark = pytest.mark.skipif(probe_sandbox().kind is SandboxKind.NONE, reason="no sandbox works here")
TASK = load_tasks()["run_lengths"]
RIGHT = TASK.reference[SOLUTION]
WRONG = "def run_lengths(text):\n    return []\n"

EQUAL = """
class Equal({base}):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __len__(self): return 0
    def __bool__(self): return True

def run_lengths(text):
    return Equal()
"""
FORGERIES = {
    "an object that equals everything": EQUAL.format(base="object"),
    "a list that equals everything": EQUAL.format(base="list"),
    "a number that equals everything": EQUAL.format(base="int"),
    "a tuple of objects that equal everything": EQUAL.format(base="tuple").replace("Equal()", "(Equal(), Equal())"),
    "an end while it is imported": "import os\nos._exit(0)\n",
    "an end in the call": "import os\ndef run_lengths(text):\n    os._exit(0)\n",
    "sys.exit in the call": "import sys\ndef run_lengths(text):\n    sys.exit(0)\n",
    "sys.exit in an atexit handler": f"import atexit, sys\natexit.register(sys.exit, 0)\n{WRONG}",
    "os._exit in an atexit handler": f"import atexit, os\natexit.register(os._exit, 0)\n{WRONG}",
    "a thread that ends the process": (
        f"import os, threading, time\nthreading.Timer(0.2, os._exit, [0]).start()\n{WRONG}"
    ),
    "a signal": "import os, signal\ndef run_lengths(text):\n    os.kill(os.getpid(), signal.SIGKILL)\n",
    "a line that says it passed": (
        "import os\ndef run_lengths(text):\n    print('all checks passed', flush=True)\n    os._exit(0)\n"
    ),
    "other builtins": (
        "import builtins\n"
        "builtins.AssertionError = builtins.Exception = builtins.BaseException = type('Nothing', (object,), {})\n"
        "builtins.all = builtins.any = builtins.isinstance = lambda *a: True\n"
        "builtins.print = builtins.exec = builtins.compile = lambda *a, **k: None\n" + WRONG
    ),
    "another json": f"import json\njson.dumps = lambda *a, **k: 'true'\n{WRONG}",
    "another encoder": (
        "import __main__\n__main__.encode = lambda value, *a: ['list', []]\n"
        "__main__.call = lambda *a: {'passed': True}\n" + WRONG
    ),
    "another exception hook": (
        "import sys\nsys.excepthook = lambda *a: None\ndef run_lengths(text):\n    raise ValueError\n"
    ),
    "files in the place of the check": (
        "import pathlib\n"
        "for name in ('check.py', 'tests.py', 'solution.py', 'sitecustomize.py', 'json.py', 'conftest.py'):\n"
        "    pathlib.Path(name).write_text('import os; os._exit(0)')\n" + WRONG
    ),
    "a report with what is true": (
        "import json, os\n"
        "for descriptor in range(3, 64):\n"
        "    for line in ('true', '{\"passed\": true}', '[\"str\", \"all checks passed\"]', '\\x00', 'x' * 100):\n"
        "        try: os.write(descriptor, line.encode() + b'\\n')\n"
        "        except OSError: pass\n" + WRONG
    ),
    "reports of well-formed values before they are asked for": (
        "import __main__, json, os\n"
        "report = json.dumps(__main__.encode({'returned': True, 'same': 0, 'arguments': [['aabcc'], {}]}))\n"
        "for descriptor in range(3, 64):\n"
        "    try: os.write(descriptor, (report + '\\n').encode() * 50)\n"
        "    except OSError: pass\n" + WRONG
    ),
    "a pipe that is closed": "import os\nos.closerange(3, 64)\n" + WRONG,
    "a child that holds the pipe": (
        "import os, time\n"
        "def run_lengths(text):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        time.sleep(60)\n"
        "    os._exit(0)\n"
    ),
    "a report without end": (
        "import os\n"
        "def run_lengths(text):\n"
        "    for descriptor in range(3, 64):\n"
        "        try: os.write(descriptor, b'[' * 1000000)\n"
        "        except OSError: pass\n"
    ),
    "a value without end": (
        "def run_lengths(text):\n    made = []\n    for _ in range(100000): made = [made]\n    return made\n"
    ),
    "an argument that is changed": "def run_lengths(text):\n    return text\n",
    "the exception of a failed test": "def run_lengths(text):\n    raise SystemExit(0)\n",
    "an exception of another kind": "class Passed(BaseException): pass\ndef run_lengths(text):\n    raise Passed\n",
    "an exception of the check's own": (
        "class AnswerLostError(Exception): pass\ndef run_lengths(text):\n    raise AnswerLostError('passed')\n"
    ),
}


@pytest.fixture(params=[probe_sandbox, lambda: SandboxStatus(SandboxKind.LANDLOCK, "")], ids=["", "landlock"])
def sandbox(request, monkeypatch):
    """Runs answers in the sandbox that holds here, and under Landlock."""
    if request.param().kind is SandboxKind.LANDLOCK and landlock_abi() < LEAST_ABI:
        pytest.skip("this kernel has no Landlock")
    monkeypatch.setattr(verdict, "CommandRunner", partial(CommandRunner, probe=request.param))


def test_what_is_right_passes(sandbox):
    assert check_solution(TASK, {SOLUTION: RIGHT}).passed


@pytest.mark.timeout(60)
@pytest.mark.parametrize("code", FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_does_not_pass(code):
    assert not check_solution(TASK, {SOLUTION: code}).passed


SEARCH = """
import gc, os, sys

MARK = "run_lengths(" + '"aabcc")'

def stolen(where, text):
    if MARK in text and text != MARK:
        print("STOLEN from", where, flush=True)

def read(path):
    try:
        with open(path, "rb") as file:
            return file.read(1 << 22).decode("utf-8", "replace")
    except OSError:
        return ""

def search():
    frame = sys._getframe()
    while frame is not None:
        stolen("a frame", repr(frame.f_code.co_consts) + repr(frame.f_globals.keys()))
        for value in frame.f_locals.values():
            if isinstance(value, str): stolen("a variable", value)
        frame = frame.f_back
    for value in gc.get_objects():
        for inside in gc.get_referents(value):
            if isinstance(inside, str) and len(inside) < 1 << 20: stolen("an object", inside)
    for folder, _, files in os.walk("."):
        for name in files: stolen("a file", read(os.path.join(folder, name)))
    for process in filter(str.isdigit, os.listdir("/proc")):
        for name in ("cmdline", "environ", "cwd/check.py"):
            stolen("/proc", read(f"/proc/{process}/{name}"))
        for descriptor in range(64):
            # A pipe is left alone: reading it would wait.
            if os.path.isfile(f"/proc/{process}/fd/{descriptor}"):
                stolen("a descriptor", read(f"/proc/{process}/fd/{descriptor}"))
        if int(process) != os.getpid():
            memory(process)
    for folder, _, files in os.walk(TASKS):
        for name in files: stolen("the tasks", read(os.path.join(folder, name)))
    print("SEARCHED", flush=True)

def memory(process):
    for line in read(f"/proc/{process}/maps").splitlines():
        if "heap" in line or "rw-p" in line:
            first, last = (int(part, 16) for part in line.split()[0].split("-"))
            try:
                with open(f"/proc/{process}/mem", "rb") as file:
                    file.seek(first)
                    stolen("memory", file.read(min(last - first, 1 << 24)).decode("utf-8", "replace"))
            except (OSError, ValueError, OverflowError):
                pass

def run_lengths(text):
    search()
    return []
"""
IN_REACH = {
    "a file": {"notes.txt": TASK.hidden[CHECK]},
    "a file further down": {"folder/notes.txt": TASK.hidden[CHECK]},
}


def search(tasks: Path) -> str:
    return f"TASKS = {str(tasks)!r}\n{SEARCH}"


@pytest.mark.timeout(120)
def test_an_answer_finds_the_tests_nowhere(sandbox):
    said = check_solution(TASK, {SOLUTION: search(Path(verdict.__file__).parent)}).output
    assert "SEARCHED" in said
    assert "STOLEN" not in said


@pytest.mark.timeout(120)
@pytest.mark.parametrize("files", IN_REACH.values(), ids=IN_REACH)
def test_the_search_finds_tests_that_are_in_reach(files):
    said = check_solution(TASK, {SOLUTION: search(Path("/nowhere")), **files}).output
    assert "STOLEN from a file" in said


def test_the_search_finds_tests_in_a_folder_that_is_not_hidden():
    with tempfile.TemporaryDirectory(dir=outside_tmp()) as folder:
        shutil.copytree(verdict.TASKS, Path(folder, "evals"))
        said = check_solution(TASK, {SOLUTION: search(Path(folder, "evals"))}).output
    assert "STOLEN from the tasks" in said


def outcome(tests: str, code: str) -> tuple[bool, str]:
    """How tests of a function `f` end, and why."""
    with folder_with({SOLUTION: code}) as folder:
        check = FunctionCheck("f", tests, folder)
        try:
            runner = CommandRunner(folder)
            runner.run(check.command, folder=folder, timeout_s=60.0, cancelled=lambda: check.over)
        finally:
            ended = check.finish()
            runner.close()
    return ended.passed, ended.problem


@pytest.mark.parametrize(
    ("tests", "code"),
    [
        ("assert f((1, 'a'), key=None) == {'a': [1.5, True]}", "def f(pair, key): return {'a': [1.5, True]}"),
        ("assert f() == (1, 2)", "from collections import namedtuple\ndef f(): return namedtuple('P', 'a b')(1, 2)"),
        ("assert f() == {'a': 1}", "from collections import Counter\ndef f(): return Counter('a')"),
        ("assert f() == 0.5 and f() != 1", "from fractions import Fraction\ndef f(): return Fraction(1, 2)"),
        ("assert f() == 10 ** 5000", "def f(): return 10 ** 5000"),
        ("assert f() != f()", "def f(): return float('nan')"),
        ("given = [[1]]\nassert f(given) is given and given == [[1, 2], 3]",
         "def f(given): given[0].append(2); given.append(3); return given"),
        ("given = {'a': {1}}\nf(given)\nassert given == {'a': {1, 2}}", "def f(given): given['a'].add(2)"),
        ("try:\n    f()\nexcept ValueError as error:\n    assert str(error) == 'no'\nelse:\n    raise AssertionError",
         "class Mine(ValueError): pass\ndef f(): raise Mine('no')"),
    ],
)  # fmt: skip
def test_honest_answers_are_compared_as_in_one_process(tests, code):
    assert outcome(tests, code) == (True, "")


@pytest.mark.parametrize(
    ("tests", "code", "problem"),
    [
        ("assert f() == 1\n", "def f(): return 2", "assert f() == 1\nAssertionError"),
        ("given = [1]\nassert f(given) is not given", "def f(given): return given",
         "assert f(given) is not given\nAssertionError"),
        ("given = [1]\nf(given)\nassert given == [1]", "def f(given): given.clear()",
         "assert given == [1]\nAssertionError"),
        ("try:\n    f()\nexcept Exception:\n    pass\n", "import os\ndef f(): os._exit(0)",
         "f()\nAnswerLostError: the answer's process is lost: it ended before the tests did"),
        ("try:\n    f()\nexcept BaseException:\n    pass\n", "import os\ndef f(): os._exit(0)",
         "the answer's process is lost: it ended before the tests did"),
        ("f()", "import json\njson.dumps = lambda form: '1'\ndef f(): pass",
         "f()\nAnswerLostError: the answer's process is lost: its report is not a plain value"),
    ],
)  # fmt: skip
@pytest.mark.timeout(60)
def test_a_failure_names_the_line_and_the_reason(tests, code, problem):
    assert outcome(tests, code) == (False, problem)


def is_plain(value: object) -> bool:
    if type(value) in (list, tuple, set, frozenset):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(is_plain(key) and is_plain(each) for key, each in value.items())
    return value is None or type(value) in (bool, int, float, str, bytes)


texts = st.text(st.characters(exclude_categories=()))
keys = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts | st.binary()
plain = st.recursive(
    keys | st.frozensets(keys, max_size=3) | st.sets(keys, max_size=3),
    lambda inside: st.lists(inside) | st.lists(inside).map(tuple) | st.dictionaries(keys, inside, max_size=3),
    max_leaves=10,
)


@given(plain)
def test_a_value_comes_back_as_it_was(value):
    found = decode(json.loads(json.dumps(encode(value))))
    assert found == value
    assert is_plain(found)


forms = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(texts, inside, max_size=2)
        | st.tuples(st.sampled_from(["int", "float", "str", "bytes", "list", "set", "dict", "tuple"]), inside).map(list)
    ),
    max_leaves=10,
)


@given(forms)
def test_what_is_decoded_is_of_builtin_types_only(form):
    try:
        value = decode(form)
    except ValueError:
        return
    assert is_plain(value)
