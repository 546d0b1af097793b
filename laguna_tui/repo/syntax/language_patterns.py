"""What definitions look like in each language, as data: one regular expression a form, with the name in group `name`.

These are line patterns, good enough to tell where a name is defined and what contains a line; they do not parse.
"""

import re
from dataclasses import dataclass, field

from laguna_tui.repo.syntax.languages import SUFFIXES, DefinitionKind, language_suffix


@dataclass(frozen=True, slots=True)
class Language:
    """One language's line patterns.

    Attributes:
        forms: kind and pattern of each form of definition; the first that matches a line decides.
        opaque: comments and strings; what lies on their inner lines defines nothing.
        skipped: lines that never end a block, whatever their indentation (comments, labels, directives).
    """

    name: str
    suffixes: tuple[str, ...]
    forms: tuple[tuple[DefinitionKind, re.Pattern[str]], ...]
    opaque: re.Pattern[str]
    skipped: re.Pattern[str]
    reserved: frozenset[str] = field(default=frozenset())


# A missing end is the end of the line or of the file: a pattern that failed there would try again at every
# quote, which takes the square of a hostile file's length.
_DOUBLE = r'"(?:\\.|[^"\\\n])*"?'
_SINGLE = r"'(?:\\.|[^'\\\n])*'?"
_C_COMMENTS = r"/\*[\s\S]*?(?:\*/|\Z)|//[^\n]*"
_PYTHON_OPAQUE = (
    r'"""(?:\\.|[^\\])*?(?:"""|\\?\Z)'
    r"|'''(?:\\.|[^\\])*?(?:'''|\\?\Z)"
    rf"|#[^\n]*|{_DOUBLE}|{_SINGLE}"
)
_C_OPAQUE = rf"{_C_COMMENTS}|{_DOUBLE}|{_SINGLE}"
_BACKTICK = r"`(?:\\.|[^`\\])*(?:`|\\?\Z)"
_CALL_WORDS = frozenset("if for while switch catch return else do with function super await new typeof case".split())


def _forms(**patterns: str) -> tuple[tuple[DefinitionKind, re.Pattern[str]], ...]:
    """Return the patterns by kind; a trailing number in the key only distinguishes several of one kind."""
    return tuple((DefinitionKind(key.rstrip("0123456789")), re.compile(text)) for key, text in patterns.items())


def _language(
    name: str,
    forms: tuple[tuple[DefinitionKind, re.Pattern[str]], ...],
    opaque: str,
    skipped: str,
    reserved: frozenset[str] = frozenset(),
) -> Language:
    return Language(
        name,
        tuple(SUFFIXES[name].split()),
        forms,
        re.compile(opaque, re.DOTALL | re.MULTILINE),
        re.compile(skipped),
        reserved,
    )


_JS_WORDS = r"(?:(?:public|private|protected|static|async|readonly|abstract|override|declare|get|set)\s+)*"
_JAVA_WORDS = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|override|virtual|async|synchronized"
    r"|native|default|partial|open|data|inline|suspend|case|implicit|lazy)\s+)*"
)

LANGUAGES = (
    _language(
        "python",
        _forms(
            function=r"\s*(?:async\s+)?def\s+(?P<name>\w+)",
            type=r"\s*class\s+(?P<name>\w+)",
            type2=r"type\s+(?P<name>\w+)\s*(?:\[[^=]*)?=",
            variable=r"(?P<name>[^\W\d]\w*)\s*(?::[^=]+)?=(?!=)",
        ),
        _PYTHON_OPAQUE,
        r"\s*#",
        frozenset({"else", "try", "finally", "lambda"}),
    ),
    _language(
        "javascript",
        _forms(
            function=r"\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:async\s+)?function\s*\*?\s*(?P<name>[\w$]+)",
            type=r"\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?"
            r"(?:class|interface|enum|namespace|type|const\s+enum)\s+(?P<name>[\w$]+)(?=[\s<{=]|$)",
            function2=r"\s*(?:export\s+)?(?:const|let|var)\s+(?P<name>[\w$]+)\s*(?::[^=]+)?=\s*"
            r"(?:async\s*)?(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>|\($|[\w$]+\s*=>)",
            function3=rf"\s+{_JS_WORDS}\*?#?(?P<name>[\w$]+)\s*(?:<[^>]*>)?\([^;]*\{{\s*$",
            variable=r"(?:export\s+)?(?:const|let|var)\s+(?P<name>[\w$]+)\s*(?::[^=]+)?=",
        ),
        rf"{_C_OPAQUE}|{_BACKTICK}",
        r"\s*(?://|\*|/\*)",
        _CALL_WORDS,
    ),
    _language(
        "go",
        _forms(
            function=r"func\s+(?:\([^)]*\)\s*)?(?P<name>\w+)",
            type=r"\s*type\s+(?P<name>\w+)",
            variable=r"(?:var|const)\s+(?P<name>\w+)",
        ),
        rf"{_C_OPAQUE}|`[^`]*`?",
        r"\s*//|\w+:\s*$",
    ),
    _language(
        "rust",
        _forms(
            function=r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:const|async|unsafe|default|extern(?:\s+\"[^\"]*\")?)\s+)*"
            r"fn\s+(?P<name>\w+)",
            type=r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?(?:struct|enum|trait|union|type|mod)\s+(?P<name>\w+)",
            type2=r"\s*(?:unsafe\s+)?impl\b(?:\s*<[^>]*>)?\s+(?:[^{]*\bfor\s+)?&?(?P<name>\w+)",
            function2=r"\s*macro_rules!\s*(?P<name>\w+)",
            variable=r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:const|static(?:\s+mut)?)\s+(?P<name>\w+)\s*:",
        ),
        rf"{_C_COMMENTS}|{_DOUBLE}",  # a single quote may begin a lifetime
        r"\s*(?://|#\[)|\s*where\b",
    ),
    _language(
        "java",
        _forms(
            type=rf"\s*{_JAVA_WORDS}(?:class|interface|@interface|enum|record|object|struct|trait|protocol"
            r"|extension)\s+(?P<name>\w+)",
            function=rf"\s*{_JAVA_WORDS}(?:fun|func|def)\s+(?:<[^>]*>\s*)?(?:\w+\.)?(?P<name>\w+)",
            function2=rf"\s+{_JAVA_WORDS}(?!(?:return|throw|try|await|new|else|case|yield|assert)\b)(?:<[^>]*>\s*)?"
            r"[\w.<>\[\],?]+\s+(?P<name>\w+)\s*\([^;=]*$",
        ),
        _C_OPAQUE,
        r"\s*(?://|\*|/\*|@)",
        _CALL_WORDS,
    ),
    _language(
        "c",
        _forms(
            type=r"\s*(?:template\s*<[^>]*>\s*)?(?:typedef\s+)?(?:struct|class|union|enum(?:\s+class)?|namespace)\s+"
            r"(?:\w+\s+)?(?P<name>\w+)(?=[^;()*=]*$)",
            variable=r"\s*#\s*define\s+(?P<name>\w+)",
            type2=r"\s*using\s+(?P<name>\w+)\s*=",
            function=r"(?!\s*(?:return|else|typedef|using|throw|new|delete)\b)"
            r"(?!\s)[\w:*&<>,~\[\]\s]+?(?<![\w~])(?P<name>~?\w+)\s*\((?!\s*\*)[^;]*$",
            function2=r"\s+(?!(?:return|else|throw|new|delete|case)\b)(?:[\w:*&<>,~]+\s+)+[*&]*(?P<name>~?\w+)\s*\([^;]*\{",
        ),
        _C_OPAQUE,
        r"\s*(?://|\*|/\*|#)|\s*\w+\s*:\s*$",
        _CALL_WORDS,
    ),
    _language(
        "php",
        _forms(
            function=r"\s*(?:(?:public|private|protected|static|final|abstract)\s+)*function\s+&?(?P<name>\w+)",
            type=r"\s*(?:(?:final|abstract|readonly)\s+)*(?:class|interface|trait|enum)\s+(?P<name>\w+)",
        ),
        rf"{_C_OPAQUE}|#[^\n]*",
        r"\s*(?://|\*|/\*|#)",
    ),
    _language(
        "ruby",
        _forms(
            function=r"\s*def\s+(?:self\.)?(?P<name>\w+[?!=]?)",
            type=r"\s*(?:class|module)\s+(?:\w+::)*(?P<name>[A-Z]\w*)",
            variable=r"(?P<name>[A-Z]\w*)\s*=(?!=)",
        ),
        rf"#[^\n]*|{_DOUBLE}|{_SINGLE}|^=begin[\s\S]*?(?:^=end|\Z)",
        r"\s*#",
    ),
    _language(
        "shell",
        _forms(
            function=r"\s*(?:function\s+)?(?P<name>[\w:.-]+)\s*\(\s*\)",
            function2=r"\s*function\s+(?P<name>[\w:.-]+)\s*\{?\s*$",
            variable=r"(?:export\s+|readonly\s+)?(?P<name>[A-Za-z_]\w*)=",
        ),
        r"(?:^|(?<=\s))#[^\n]*",
        r"\s*#",
    ),
    _language(
        "lua",
        _forms(
            function=r"\s*(?:local\s+)?function\s+(?:\w+[.:])*(?P<name>\w+)",
            function2=r"\s*(?:local\s+)?(?:\w+\.)*(?P<name>\w+)\s*=\s*function\b",
        ),
        rf"--\[\[[\s\S]*?(?:\]\]|\Z)|--[^\n]*|\[\[[\s\S]*?(?:\]\]|\Z)|{_DOUBLE}|{_SINGLE}",
        r"\s*--",
    ),
)

BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}


def language_of(path: str) -> Language | None:
    return BY_SUFFIX.get(language_suffix(path))
