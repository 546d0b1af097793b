"""What a question is about: the names and files in it that the folder knows, or that are written as code.

A plain word is a name only where the folder defines it and the question is one about a name. Names from earlier
questions count only if this one has a pronoun in their place.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import NamedTuple

from laguna_tui.agent.tools.nano.folder import FolderIndex
from laguna_tui.agent.tools.nano.kinds import FILE, NAME, QuestionKind, probabilities, translated
from laguna_tui.agent.tools.nano.question import ASKING, PATH, QUOTED, SUBJECT
from laguna_tui.agent.tools.nano.question import NAME as NAME_PATTERN
from laguna_tui.repo.search.identifiers import looks_like_code

ABOUT_NAMES = frozenset(
    {
        QuestionKind.WHERE,
        QuestionKind.TAKES,
        QuestionKind.USES,
        QuestionKind.TESTS,
        QuestionKind.MEMBERS,
        QuestionKind.SUBCLASSES,
        QuestionKind.BASES,
        QuestionKind.EXPLAIN,
        QuestionKind.OUTLINE,
    }
)
_TOKEN = re.compile(r"(?<!['’\w.])[^\W\d]\w*(?:(?:\.|::)[^\W\d]\w*)*(?P<call>\(\))?(?!['’](?!s\b)\w|\w)")
_IDEOGRAPH = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_SCRIPTS = re.compile(rf"(?<=[{_IDEOGRAPH}])(?=[A-Za-z_`])|(?<=[A-Za-z0-9_)`])(?=[{_IDEOGRAPH}])")
_ACRONYM_WORD = re.compile(r"[A-Z]{2}[a-z]{3}")
"""As in HTTPServer; unlike URLs."""
_ABBREVIATIONS = frozenset({"e.g", "i.e", "a.k.a", "u.a", "z.b"})
_PRONOUN = re.compile(
    r"\b(?:it|its|it's|they|them|those|that one|the same|this one|es|sie|ihn|davon|dafür|dessen)\b|它|那个"
    r"|\b(?:that|this|these)\b"
    r"(?! (?:\w+ )?(?:package|project|repo\w*|library|lib|module|folder|code\w*|app|program|file)\b)",
    re.IGNORECASE,
)
_ELLIPSIS = re.compile(r"^\W*(?:and|und|also|what about|how about|then|now|or)\b|^\W*(?:那|还有)", re.IGNORECASE)
_GERMAN = re.compile(
    r"\b(?:wo|wer|wie|welche[rsn]?|warum|wieso|wozu|gibt|zeige?|der|das|und|ist|sind|wird|werden|ich|nicht)\b", re.I
)
"""Nouns begin with a capital there, so that one says nothing."""
_KIND_OF_NAME = (
    r"(?:class|function|method|func|def|fn|type|struct|interface|constant|variable|decorator|property|enum|dataclass|mixin"
    r"|helper|klasse|funktion|methode)"
)
_SLOT = re.compile(rf"\b{_KIND_OF_NAME}\W+$", re.IGNORECASE)
_SLOT_AFTER = re.compile(rf"^\W+{_KIND_OF_NAME}\b", re.IGNORECASE)
_MODULE_AFTER = re.compile(r"^\W+(?:module|file|package|submodule|script|modul|datei)\b", re.IGNORECASE)
_FOLDER_AFTER = re.compile(r"^\W+(?:folder|directory|dir|subfolder|ordner|verzeichnis)\b", re.IGNORECASE)
_MODULE_BEFORE = re.compile(r"\b(?:module|file|package|submodule|script|modul|datei)\W+$", re.IGNORECASE)
_MEMBER = re.compile(r"\{n\}\s+(?:\w+\s+){0,2}?(?:of|in|on|from|von)\s+(?:\w+\s+){0,2}?\{n\}|\{n\}\s+'s\s+\{n\}")
_SUFFIXES = (
    ".py",
    ".pyi",
    ".ts",
    ".js",
    ".go",
    ".rs",
    ".c",
    ".java",
    "/__init__.py",
    "/index.ts",
    "/index.js",
    "/mod.rs",
)
_SURE, _LIKELY, _PLAIN = 2, 1, 0
_SHORTEST_PLAIN = 3
_SURELY_OTHER = 0.6
"""How likely a question is of another kind that has an ordinary word, to not be about the name that it is too."""


@dataclass(frozen=True, slots=True)
class AskedName:
    """A name that a question is about.

    Attributes:
        name: As the folder has it; as it was written if it has none like it.
        written: As the user wrote it.
        known: Whether the folder defines it.
    """

    name: str
    written: str
    known: bool


class _Mention(NamedTuple):
    start: int
    end: int
    text: str
    strength: int
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question, read.

    Attributes:
        text: All of it.
        kinds: How likely it is of each kind.
        subjects: The names that it is about.
        files: The files of the folder that it names.
        missing: What looks like a file that the folder does not have.
        refers: Whether a pronoun stands for a name of an earlier question.
        english: It with its names and files masked, and German and Chinese cue words in English.
    """

    text: str
    kinds: Mapping[QuestionKind, float]
    subjects: tuple[AskedName, ...] = ()
    files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    refers: bool = False
    english: str = ""

    @property
    def kind(self) -> QuestionKind:
        """The most likely kind."""
        return max(self.kinds, key=lambda kind: self.kinds[kind])

    @property
    def sureness(self) -> float:
        """How likely the most likely kind is."""
        return self.kinds[self.kind]


def read(text: str, folder: FolderIndex) -> ParsedQuestion:
    """Return a question with the names and files that it is about."""
    text = _SCRIPTS.sub(" ", text)
    files, missing, file_mentions = _files(text, folder)
    found = _without_quotes([each for each in _mentions(text, folder) if not _overlaps(each, file_mentions)], folder)
    sure = [
        each for each in found if each.strength == _SURE or (each.strength == _LIKELY and each.text in folder.names)
    ]
    resolved = [(mention, _resolved(mention, folder)) for mention in sure]
    if not resolved and not _GERMAN.search(text):
        likely = [(each, _resolved(each, folder)) for each in found if each.strength == _LIKELY]
        resolved = [(mention, subject) for mention, subject in likely if subject.known]
    if not resolved and not files:
        resolved = _plain(text, [each for each in found if each not in sure], folder)
    masked = _masked(text, [mention for mention, _ in resolved], file_mentions)
    subjects = _joined([subject for _, subject in resolved], folder)
    if len(subjects) < len(resolved):
        masked = _MEMBER.sub(NAME, masked)
    english = translated(masked)
    asked = ParsedQuestion(text, probabilities(english), files=files, missing=missing, english=english)
    refers = not subjects and not files and bool(_PRONOUN.search(text) or _ELLIPSIS.search(text))
    return replace(asked, subjects=subjects, refers=refers)


def carried(earlier: Sequence[str], folder: FolderIndex) -> AskedName | None:
    """Return the name that a pronoun stands for: the first one of the newest earlier question that has names.

    Only questions that refer to one before them are passed over.
    """
    questions = (read(text, folder) for text in earlier)
    asked = next((each for each in questions if each.subjects or not each.refers), None)
    return asked.subjects[0] if asked and asked.subjects else None


def _mentions(text: str, folder: FolderIndex) -> Iterator[_Mention]:
    """Yield what may be a name."""
    quoted = list(QUOTED.finditer(text))
    for match in quoted:
        name = next(filter(None, match.groups())).strip().removesuffix("()")
        if NAME_PATTERN.fullmatch(name.replace("::", ".")):
            yield _Mention(*match.span(), name.replace("::", "."), _SURE, quoted=match.group()[0] != "`")
    if not text.isascii():
        for name in sorted((name for name in folder.names if not name.isascii()), key=len, reverse=True):
            if name in text:
                at = text.index(name)
                yield _Mention(at, at + len(name), name, _SURE)
    for match in _TOKEN.finditer(text):
        if not any(match.start() < each.end() and each.start() < match.end() for each in quoted):
            name = match.group().removesuffix("()").replace("::", ".")
            yield _Mention(*match.span(), name, _strength(name, text, match))


def _without_quotes(found: Sequence[_Mention], folder: FolderIndex) -> list[_Mention]:
    """Return what may be a name; ordinary words in quotes that nothing defines are none beside other words."""
    beside = sum(map(_is_content, found)) > 2
    return [
        each._replace(strength=_PLAIN)
        if beside and each.quoted and each.text not in folder.names and not looks_like_code(each.text)
        else each
        for each in found
    ]


def _strength(name: str, text: str, match: re.Match[str]) -> int:
    """Return how surely a word is a name, by how it is written and where it stands."""
    if name.lower() in _ABBREVIATIONS:
        return _PLAIN
    if match["call"] or "." in name or name[0] == "_" or looks_like_code(name) or _ACRONYM_WORD.search(name):
        return _SURE
    begins = text[: match.start()].rstrip()[-1:] in ("", *".?!:")
    return _LIKELY if name[0].isupper() and name != "I" and not begins and name.lower() not in ASKING else _PLAIN


def _resolved(mention: _Mention, folder: FolderIndex) -> AskedName:
    """Return the name that is meant: as it is written, in another case, or with a slip."""
    written = mention.text
    scopes, _, last = written.rpartition(".")
    if last in folder.names:
        if not scopes or folder.definitions(written):
            return AskedName(written, written, known=True)
        outer = [found for part in scopes.split(".") for found in folder.alike(part)[:1]]
        whole = ".".join([*outer, last])
        return AskedName(whole if folder.definitions(whole) else written, written, known=True)
    if folder.uses(last):
        return AskedName(written, written, known=False)
    near = folder.alike(last, slips=mention.strength == _SURE or len(last) > _SHORTEST_PLAIN + 1)
    if not near:
        return AskedName(written, written, known=False)
    right = ".".join(filter(None, [scopes, near[0]]))
    return AskedName(right if scopes and folder.definitions(right) else near[0], written, known=True)


def _plain(text: str, found: Sequence[_Mention], folder: FolderIndex) -> list[tuple[_Mention, AskedName]]:
    """Return the ordinary word that is a name, if the words around it ask about a name; else nothing."""
    words = [each for each in found if len(each.text) >= _SHORTEST_PLAIN or each.text in folder.names]
    content = [each for each in words if _is_content(each)]
    candidates = [each for each in content if each.text in folder.names]
    if not candidates and (slot := [each for each in words if _in_slot(text, each)] or content[: len(content) == 1]):
        near = [(each, folder.alike(each.text, slips=not folder.has_word(each.text))) for each in slot[:1]]
        candidates = [each for each, names in near if names]
    for mention in candidates:
        if _in_slot(text, mention) or _asks_about(text, mention, len(content)):
            subject = _resolved(mention, folder)
            return [(mention, subject)] if subject.known else []
    return []


def _is_content(mention: _Mention) -> bool:
    """Return whether a word is none of those that questions are made of, German ones among them."""
    return not ASKING.issuperset(translated(mention.text).lower().split())


def _asks_about(text: str, mention: _Mention, content: int) -> bool:
    """Return whether the words around an ordinary word ask about a name, and not about a topic that has the word.

    Args:
        content: How many words of the text are not of those that questions are made of.
    """
    kinds = probabilities(translated(_masked(text, [mention], ())))
    kind = max(kinds, key=lambda kind: kinds[kind])
    alone = content <= 1 or any(match.span(1) == mention[:2] for match in SUBJECT.finditer(text))
    unmasked = probabilities(translated(text))
    return (
        alone
        and kind in ABOUT_NAMES
        and max(unmasked[QuestionKind.FILES], unmasked[QuestionKind.FAMILY]) < _SURELY_OTHER
    )


def _in_slot(text: str, mention: _Mention) -> bool:
    """Return whether a word stands beside one that says that it is a name, such as "class"."""
    before = _SLOT.search(text[: mention.start])
    if mention.text.lower() in ASKING:
        # "class Help" is one, "which class" is not.
        return before is not None and mention.text[0].isupper()
    near = before or _SLOT_AFTER.match(text[mention.end :])
    return near is not None and not _SLOT.fullmatch(f"{mention.text} ")


def _joined(subjects: Sequence[AskedName], folder: FolderIndex) -> tuple[AskedName, ...]:
    """Return the names once each; of a class and its member, the member."""
    once = list({subject.name: subject for subject in subjects}.values())
    for member, scope in permutations(once, 2):
        whole = f"{scope.name.rpartition('.')[2]}.{member.name}"
        is_member = member.known and "." not in member.name and folder.type_named(scope.name) is not None
        if is_member and folder.definitions(whole):
            return (AskedName(whole, whole, known=True), *(each for each in once if each not in (member, scope)))
    return tuple(once)


def _files(text: str, folder: FolderIndex) -> tuple[tuple[str, ...], tuple[str, ...], tuple[_Mention, ...]]:
    """Return the files of the folder that are named, what looks like one that it lacks, and where they stand."""
    known: dict[str, None] = {}
    missing: list[str] = []
    mentions: list[_Mention] = []
    for match in PATH.finditer(text):
        written = match.group().removeprefix("./")
        paths = [path for path in folder.paths if f"/{path}".endswith(f"/{written}")]
        lower = written.lower()
        paths = paths or [path for path in folder.paths if f"/{path}".lower().endswith(f"/{lower}")]
        paths = paths or [path for path in folder.paths if f"/{lower.rstrip('/')}/" in f"/{path}/".lower()]
        if paths:
            known.update(dict.fromkeys(paths))
        elif "/" not in written or "." in written.rpartition("/")[2]:
            missing.append(match.group())
        else:
            continue
        mentions.append(_Mention(*match.span(), written, _SURE))
    for match in _TOKEN.finditer(text):
        name = match.group().removesuffix("()")
        if _FOLDER_AFTER.match(text[match.end() :]) and name.lower() not in ASKING:
            paths = [path for path in folder.paths if f"/{name.lower()}/" in f"/{path.lower()}"]
            known.update(dict.fromkeys(paths))
            mentions += [_Mention(*match.span(), name, _SURE)] if paths else []
            continue
        module = _MODULE_AFTER.match(text[match.end() :]) or _MODULE_BEFORE.search(text[: match.start()])
        if ("." in name and name.rpartition(".")[2] not in folder.names) or (module and name.lower() not in ASKING):
            paths = _module(name, folder)
            known.update(dict.fromkeys(paths))
            mentions += [_Mention(*match.span(), name, _SURE)] if paths else []
    return tuple(known), tuple(missing), tuple(mentions)


def _module(name: str, folder: FolderIndex) -> list[str]:
    """Return the files of a module by its name, dotted or not."""
    ends = tuple(f"/{name.replace('.', '/')}{suffix}" for suffix in _SUFFIXES)
    found = [path for path in folder.paths if f"/{path}".endswith(ends)]
    return found or [path for path in folder.paths if f"/{path}".lower().endswith(tuple(map(str.lower, ends)))]


def _overlaps(mention: _Mention, others: Sequence[_Mention]) -> bool:
    return any(mention.start < other.end and other.start < mention.end for other in others)


def _masked(text: str, names: Sequence[_Mention], files: Sequence[_Mention]) -> str:
    """Return a question with names and files masked."""
    marks = [*((each, NAME) for each in names), *((each, FILE) for each in files)]
    for each, mark in sorted(marks, key=lambda pair: pair[0].start, reverse=True):
        text = f"{text[: each.start]} {mark} {text[each.end :]}"
    return text
