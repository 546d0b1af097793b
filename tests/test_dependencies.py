"""What the shipped packages import is what an installation brings."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHIPPED = (ROOT / "laguna_tui", ROOT / "engine" / "laguna_engine")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def plain(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


EXTRAS = PROJECT["optional-dependencies"]
"""What is only imported by the commands that need it, which say how to install it."""
LINES = [*PROJECT["dependencies"], *(line for name, extra in EXTRAS.items() if name != "dev" for line in extra)]
DECLARED = {plain(re.split(r"[\s<>=!~\[;]", line, maxsplit=1)[0]) for line in LINES}


def imported(path: Path) -> Iterator[str]:
    """Top-level names of all modules that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


FILES = sorted(path for package in SHIPPED for path in package.rglob("*.py"))
FOREIGN = sorted(
    {name for path in FILES for name in imported(path)}
    - set(sys.stdlib_module_names)
    - {package.name for package in SHIPPED}
)


def test_there_is_something_to_look_at():
    assert {"textual", "rich", "markdown_it", "huggingface_hub"} <= set(FOREIGN)


@pytest.mark.parametrize("module", FOREIGN)
def test_what_is_imported_is_declared(module):
    # What an extra brings need not be here; it is called as its module is.
    assert DECLARED & set(map(plain, packages_distributions().get(module, [module])))
