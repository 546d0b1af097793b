"""Questions with known answers, made from code itself.

Definitions: every docstring is taken out of Python code, and every comment that stands right before a definition out of
the code of other languages; the first sentence of one is the question, and the definition that it described is the
answer. Symbols: the name of a function or type that is defined once, alone or in a sentence. Changes: a line that a
release added to its changelog, or a commit's subject; the answer is the source files that it changed (all of them,
though a line may speak of one).

What defines a name is told by patterns of this module's own, not by the parsers that are measured.
"""

import ast
import difflib
import random
import re
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.evals.corpora import python_files

# Shorter sentences ("Constructor.") do not say which definition they belong to.
_MIN_WORDS = 4
# A change of more files does not say which one its line is about.
_MAX_FILES = 6
# A longer file is generated or minified.
_MAX_CHARS = 400_000
# What a line defines stands at its beginning.
_HEAD_CHARS = 200
_CHANGELOG = re.compile(r"(^|/)(CHANGES|CHANGELOG|HISTORY|NEWS)\.(rst|md|txt)$", re.IGNORECASE)
# Folders of tests and the like, and tests by their file's name; `test.py` and `testing.py` alone are for users.
_TEST = re.compile(
    r"(^|[/_.-])(tests?|testing|specs?|docs?|examples?|bench|vendor|mocks?|fixtures?)([_.-]\w+)*/"
    r"|(^|/)test_\w*\.|[._-](test|spec)\.|(?-i:Tests?|Specs?)\.\w+$",
    re.IGNORECASE,
)
# What is built from sources that lie beside it has their definitions once more.
_BUILT = re.compile(r"(^|/)(dist|build|build-\w+|bundles|cjs|esm5?|umd)/|\.min\.\w+/?$")

_KEYWORDS = frozenset("if for while switch catch return else do with function new using lock foreach sizeof".split())
_WORDED = re.compile(
    r"\s*(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|open|static|final|abstract|override|async"
    r"|unsafe|const|sealed|partial|virtual|suspend|inline|data|extern|readonly|fileprivate|mutating|convenience"
    r"|class(?=\s+func)|enum(?=\s+class))\s+)*"
    r"(?:fn|func|fun|function\*?|def|class|interface|struct|enum|trait|protocol|object|module|record)\s+"
    r"(?:self\.|[A-Z]\w*\.(?=\w))?(?P<name>[A-Za-z_]\w*+)"
    # "struct stat found = …" and "object key = …" define a variable.
    r"(?!\s+[*&]*(?!extends\b|implements\b|where\b|permits\b|for\b|final\b|if\b|throws\b|async\b)\w|\s*=[^=>]*;)"
)
_TYPED = re.compile(
    r"\s*[A-Za-z_][\w<>\[\],.?*&: ]*?[\s*&](?:\w+(?:<[^>]*>)?::)*(?P<name>[A-Za-z_]\w*)\s*\((?=[^;=]*$)"
)
_METHOD = re.compile(
    r"\s+(?:(?:async|static|get|set|public|private|protected)\s+)*(?P<name>[A-Za-z_]\w*)\s*(?:<[^>]*>)?"
    # A function among the arguments says that it is a call.
    r"\((?!(?:async\b|function\b|[^:]*=>\s*\{\s*$))[^;]*\{\s*$"
)
_ASSIGNED = re.compile(
    r"\s*(?:export\s+)?(?:const|let|var)\s+(?P<name>\w+)\s*=\s*"
    r"(?:async\s*)?(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>|\w+\s*=>|\($)"
)
_SHELL = re.compile(r"(?:function\s+)?(?P<name>[\w.-]+)\s*\(\)")
# What else may define a name, in any language: a name that one of these has too is not defined once. Variables count
# at the left margin and with a modifier.
_PERHAPS = (
    re.compile(
        r"(?:.*\s|\s*)(?:fn|func|fun|function|def|class|interface|struct|enum|union|trait|protocol|object|module|record"
        r"|typealias|typedef|namespace|#\s*define|macro_rules!)[*\s]+(?:\w+(?:::|\.))*(?P<name>[A-Za-z_]\w*)"
    ),
    re.compile(
        r"(?:\s*(?:export|public|private|protected|internal|open|static|lazy|override|readonly|pub|final)\s+)*"
        r"(?:let|var|val|const|static|type)\s+(?P<name>[A-Za-z_]\w*)"
    ),
    re.compile(r"\s*[A-Za-z_][\w<>\[\],.?*&: ]*?[\s*&](?:\w+::)*(?P<name>[A-Za-z_]\w*)\s*\([^=]*$"),
    re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*\([^=]*\{\s*$"),
    re.compile(r"[-+]\s*\([^)]*\)\s*(?P<name>\w+)"),
)
_STATEMENTS = _KEYWORDS - {"function"}
_NO_DEFINITIONS = _STATEMENTS | frozenset("await throw delete yield case assert import raise print not * //".split())
_READ_TOO = (".m", ".mm", ".hpp", ".hh", ".cxx", ".pyx", ".go")
_FORMS = {
    **dict.fromkeys(".py .rs .swift .kt .php .rb".split(), (_WORDED,)),
    **dict.fromkeys(".js .mjs .cjs .ts .tsx".split(), (_WORDED, _ASSIGNED, _METHOD)),
    **dict.fromkeys(".java .cs .c .h .cc .cpp .hpp".split(), (_WORDED, _TYPED)),
    **dict.fromkeys(".sh .bash".split(), (_SHELL,)),
}
_LINE_COMMENTS = {**dict.fromkeys((".rb", ".sh", ".bash"), "#"), **dict.fromkeys((".py",), "")}
_BETWEEN = re.compile(r"\s*(?:@\w|#\[|\[\w[\w.]*(?:\(.*\))?\]\s*$)")
_MARKERS = re.compile(r"^\s*(?:/\*+!?|\*+/|\*|//[/!]?|#+)?\s?|\s*\*+/\s*$", re.MULTILINE)


class Gold(NamedTuple):
    """A question and what answers it: (path, offset of the definition's name), or (path, -1) for a file."""

    question: str
    answers: frozenset[tuple[str, int]]


def stripped(text: str) -> tuple[str, list[tuple[int, str, str]]]:
    """A Python module without its docstrings, and (line, name, first sentence) of those that stood in definitions."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text, []
    lines = text.split("\n")
    found = []
    for node in list(_documented(tree)):
        first = node.body[0]
        for number in range(first.lineno - 1, first.end_lineno):
            lines[number] = ""
        lines[first.lineno - 1] = " " * first.col_offset + "..."
        if not isinstance(node, ast.Module) and (sentence := _sentence(first.value.value)):
            found.append((node.lineno, node.name, sentence))
    return "\n".join(lines), found


def uncommented(text: str, suffix: str) -> tuple[str, list[tuple[int, str, str]]]:
    """Return the same for other languages: without the comments that stand right before a definition."""
    lines, found, held = text.split("\n"), [], []
    mark = _LINE_COMMENTS.get(suffix, "//")
    block = False
    for at, line in enumerate(lines):
        bare = line.strip()
        block = block or (mark == "//" and bare.startswith("/*"))
        if block or bare.startswith(mark):
            held.append(at)
            block = block and "*/" not in bare
        elif held and not _BETWEEN.match(line):
            name = defined(line, suffix)
            if name:
                sentence = _sentence(_MARKERS.sub("", "\n".join(lines[number] for number in held)))
                for number in held:
                    lines[number] = ""
                if sentence:
                    found.append((at + 1, name, sentence))
            held = []
    return "\n".join(lines), found


def defined(line: str, suffix: str) -> str:
    """Return the name of the function or type that a line defines; empty for any other."""
    for form in _FORMS.get(suffix, ()):
        match = form.match(line)
        if match and match["name"] not in _KEYWORDS and line.split()[0] not in _STATEMENTS:
            return match["name"]
    return ""


def _sentence(text: str) -> str:
    """Return the first sentence of a comment, if it says enough."""
    plain = re.split(r"\n\s*(?:@|:param|Args:|\\param)|(?<=[.!?])\s|\n\s*\n", text.strip())[0]
    plain = re.sub(r"<[^>]*>|\{@\w+\s*|[`{}]|^@\w+\s*", " ", plain)
    return " ".join(plain.split()) if len(plain.split()) >= _MIN_WORDS else ""


def _documented(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
        yield node
    for child in ast.iter_child_nodes(node):
        inside = not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if inside or isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _documented(child)


def is_built(path: str) -> bool:
    """Return whether a file is built from sources that lie beside it, by its path below the package."""
    return _BUILT.search(path) is not None


def source_files(root: Path, suffixes: Collection[str] = tuple(_FORMS)) -> dict[str, str]:
    """Return text of each file that definitions can be told in, by its path below the folder."""
    files = {}
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root).as_posix()
        if path.suffix in suffixes and path.is_file() and not re.search(r"(^|/)\.", inside) and not is_built(inside):
            text = path.read_bytes().decode("utf-8", errors="replace").replace("\r\n", "\n")
            if len(text) <= _MAX_CHARS:
                files[inside] = text
    return files


def definitions(source: Path, target: Path) -> list[Gold]:
    """Write the source files without what describes their definitions to `target`; the questions that they answer."""
    golds = []
    for path, text in source_files(source).items():
        suffix = Path(path).suffix
        code, found = stripped(text) if suffix == ".py" else uncommented(text, suffix)
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(code, encoding="utf-8", newline="")
        if not _TEST.search(path):
            golds += [Gold(said, frozenset({(path, _offset(code, line, name))})) for line, name, said in found]
    return golds


def symbols(source: Path) -> list[Gold]:
    """A question for each name that the folder defines once, in any case: by itself, as a call, in a sentence, by its
    words."""
    places: dict[str, tuple[str, int, str]] = {}
    counted: Counter[str] = Counter()
    for path, text in source_files(source, (*_FORMS, *_READ_TOO)).items():
        # Code in a docstring is an example.
        code = stripped(text)[0] if path.endswith(".py") else text
        for number, line in enumerate(code.split("\n"), 1):
            name = defined(line, Path(path).suffix)
            if len(name) > 3:
                places[_folded(name)] = path, _offset(text, number, name), name
            counted.update({_folded(found) for found in {name, *_perhaps(line)}})
    rng = random.Random(11)
    golds = []
    for folded, (path, at, name) in places.items():
        if counted[folded] == 1 and not _TEST.search(path):
            spaced = " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)).lower()
            asked = rng.choice((name, f"{name}()", f"where is {name} defined?", f"how does {name} work", spaced))
            golds.append(Gold(asked, frozenset({(path, at)})))
    return golds


def _perhaps(line: str) -> Iterator[str]:
    """Yield names that a line may define."""
    head = line[:_HEAD_CHARS]
    if head.strip() and head.split()[0] not in _NO_DEFINITIONS:
        yield from (match["name"] for form in _PERHAPS if (match := form.match(head)))


def _folded(name: str) -> str:
    """Return a name as it is asked for in words."""
    return name.replace("_", "").lower()


def _offset(text: str, line: int, name: str) -> int:
    """Return where a name stands in a line of a text."""
    start = 0
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    return text.index(name, start)


def changes(old: Path, new: Path) -> list[Gold]:
    """Return the questions that the changelog's new lines ask of the old release."""
    before, after = python_files(old), python_files(new)
    changed = {path for path, text in before.items() if after.get(path, text) != text and not _TEST.search(path)}
    if not 1 <= len(changed) <= _MAX_FILES:
        return []
    answers = frozenset((path, -1) for path in changed)
    return [Gold(line, answers) for line in _news(old, new)]


def _news(old: Path, new: Path) -> list[str]:
    """Return the entries that a changelog gained."""
    for path in sorted(new.rglob("*")):
        inside = path.relative_to(new).as_posix()
        if _CHANGELOG.search(inside) and (old / inside).is_file():
            left, right = ((root / inside).read_text(errors="replace").splitlines() for root in (old, new))
            added = [line[2:] for line in difflib.ndiff(left, right) if line.startswith("+ ")]
            entries = re.split(r"\n\s*[-*]\s+", "\n" + "\n".join(added))[1:]
            plain = [re.sub(r":\w+:`[^`]*`|\(#\d+\)|``", "", " ".join(entry.split())) for entry in entries]
            return [entry for entry in plain if len(entry.split()) >= _MIN_WORDS]
    return []


def commits(repository: Path, last: str, number: int) -> list[tuple[str, Gold]]:
    """Return a sample of a history's commits up to `last`, oldest first: the revision before one, and its subject as a
    question. Answers are the source files, tests apart, that it changed and that were there before."""
    log = _git(
        repository, "log", "--no-merges", "--no-renames", "--name-status", "--reverse", "--format=%x00%H%x01%s", last
    )
    found = []
    for entry in log.split("\0")[1:]:
        head, *rows = entry.strip().split("\n")
        revision, subject = head.split("\1")
        changed = [row.split("\t") for row in rows if row]
        code = [path for _, path in changed if Path(path).suffix in _FORMS and not _TEST.search(path)]
        kept = frozenset((path, -1) for status, path in changed if status == "M" and path in code)
        if kept and len(kept) <= _MAX_FILES and len(code) <= _MAX_FILES and len(subject.split()) >= _MIN_WORDS:
            found.append((f"{revision}^", Gold(subject, kept)))
    chosen = sorted(random.Random(13).sample(range(len(found)), min(number, len(found))))
    return [found[place] for place in chosen]


def check_out(repository: Path, revision: str) -> None:
    """Lay out the files of a revision."""
    _git(repository, "checkout", "-q", "--force", revision)


def _git(repository: Path, *command: str) -> str:
    return subprocess.run(["git", "-C", repository, *command], capture_output=True, check=True, text=True).stdout
