"""Questions with known answers, made from code itself.

Definitions: every docstring is taken out of the code; the first sentence of one is the question, and the definition
that it stood in is the answer. Changes: a line that a release added to its changelog is the question, and the source
files that it changed are the answer (all of them, though a line may speak of one).
"""

import ast
import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.evals.corpora import python_files

# Shorter sentences ("Constructor.") do not say which definition they belong to.
_MIN_WORDS = 4
# A release that changed more does not say which file a line is about.
_MAX_FILES = 6
_CHANGELOG = re.compile(r"(^|/)(CHANGES|CHANGELOG|HISTORY|NEWS)\.(rst|md|txt)$", re.IGNORECASE)
_TEST = re.compile(r"(^|/)(tests?|docs?|examples?)(/|_)")


class Gold(NamedTuple):
    """A question and what answers it: (path, qualified name) for definitions, (path, "") for files."""

    question: str
    answers: frozenset[tuple[str, str]]


def stripped(text: str) -> tuple[str, list[tuple[str, str]]]:
    """A module without its docstrings, and (qualified name, first sentence) of those that stood in definitions."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text, []
    lines = text.split("\n")
    found = []
    for node, name in list(_documented(tree, "")):
        first = node.body[0]
        for number in range(first.lineno - 1, first.end_lineno):
            lines[number] = ""
        lines[first.lineno - 1] = " " * first.col_offset + "..."
        sentence = re.split(r"(?<=[.!?])\s|\n\s*\n", first.value.value.strip())[0]
        if name and len(sentence.split()) >= _MIN_WORDS:
            found.append((name, " ".join(sentence.split())))
    return "\n".join(lines), found


def _documented(node: ast.AST, scope: str) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
        yield node, scope
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _documented(child, f"{scope}.{child.name}".lstrip("."))
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _documented(child, scope)


def definitions(source: Path, target: Path) -> list[Gold]:
    """Write the stripped Python files to `target`; the questions that they answer."""
    golds = []
    for path, text in python_files(source).items():
        code, found = stripped(text)
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(code, encoding="utf-8")
        if not _TEST.search(path):
            golds += [Gold(sentence, frozenset({(path, name)})) for name, sentence in found]
    return golds


def changes(old: Path, new: Path) -> list[Gold]:
    """The questions that the changelog's new lines ask of the old release."""
    before, after = python_files(old), python_files(new)
    changed = {path for path, text in before.items() if after.get(path, text) != text and not _TEST.search(path)}
    if not 1 <= len(changed) <= _MAX_FILES:
        return []
    answers = frozenset((path, "") for path in changed)
    return [Gold(line, answers) for line in _news(old, new)]


def _news(old: Path, new: Path) -> list[str]:
    """The entries that a changelog gained."""
    for path in sorted(new.rglob("*")):
        inside = path.relative_to(new).as_posix()
        if _CHANGELOG.search(inside) and (old / inside).is_file():
            left, right = ((root / inside).read_text(errors="replace").splitlines() for root in (old, new))
            added = [line[2:] for line in difflib.ndiff(left, right) if line.startswith("+ ")]
            entries = re.split(r"\n\s*[-*]\s+", "\n" + "\n".join(added))[1:]
            plain = [re.sub(r":\w+:`[^`]*`|\(#\d+\)|``", "", " ".join(entry.split())) for entry in entries]
            return [entry for entry in plain if len(entry.split()) >= _MIN_WORDS]
    return []
