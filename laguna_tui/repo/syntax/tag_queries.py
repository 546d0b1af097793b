"""The language of a path, its grammar, and what defines and refers to a name in the grammar's syntax trees.

Loads no grammar (`grammars` does).
"""

import sys
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from laguna_tui.repo.syntax.languages import language_suffix


class Tags(NamedTuple):
    """One grammar: the module and function that give it, and its two tree-sitter queries.

    A definition is captured as `function`, `type` or `variable` with its `name`; `scope` only names what lies inside
    (Rust's `impl`), and `owner` names what a definition belongs to (Go's receivers). Of patterns that capture the same
    name node, the first one counts. References are captured as `reference`: calls, types, base classes and imports, not
    every identifier. Imports that say a path, whose text is captured as `import`, have a query of their own,
    and so has code that the grammar leaves as tokens (what Rust's macros get), captured as `unparsed`.
    """

    module: str
    function: str
    definitions: str
    references: str
    imports: str = ""
    unparsed: str = ""


_PYTHON = Tags(
    "tree_sitter_python",
    "language",
    """
    (function_definition name: (identifier) @name) @function
    (class_definition name: (identifier) @name) @type
    (module (type_alias_statement left: (type (identifier) @name)) @type)
    (module (expression_statement (assignment left: (identifier) @name)) @variable)
    """,
    """
    (call function: [(identifier) @reference (attribute attribute: (identifier) @reference)])
    (type [(identifier) @reference (generic_type (identifier) @reference) (attribute (identifier) @reference)
           (binary_operator (identifier) @reference) (subscript value: (identifier) @reference)])
    (class_definition superclasses: (argument_list [(identifier) @reference (attribute (identifier) @reference)]))
    (decorator [(identifier) @reference (attribute attribute: (identifier) @reference)])
    (import_from_statement name: (dotted_name (identifier) @reference))
    (import_from_statement name: (aliased_import name: (dotted_name (identifier) @reference)))
    """,
)
_ECMA_DEFINITIONS = """
    (function_declaration name: (identifier) @name) @function
    (generator_function_declaration name: (identifier) @name) @function
    (method_definition name: (_) @name) @function
    (_ (variable_declarator name: (identifier) @name
        value: [(arrow_function) (function_expression) (generator_function)])) @function
    (pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @function
    (assignment_expression left: (member_expression property: (property_identifier) @name)
        right: [(arrow_function) (function_expression)]) @function
    (program (lexical_declaration (variable_declarator name: (identifier) @name)) @variable)
    (program (variable_declaration (variable_declarator name: (identifier) @name)) @variable)
    (export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @variable)
    """
_ECMA_REFERENCES = """
    (call_expression function: [(identifier) @reference (member_expression property: (_) @reference)])
    (new_expression constructor: [(identifier) @reference (member_expression property: (_) @reference)])
    (import_specifier name: (identifier) @reference)
    (import_clause (identifier) @reference)
    """
# Only paths: a bare name is a package's.
_ECMA_IMPORTS = r"""
    ((import_statement source: (string) @import) (#match? @import "^.\\."))
    ((export_statement source: (string) @import) (#match? @import "^.\\."))
    (call_expression function: (identifier) @call arguments: (arguments . (string) @import)
        (#eq? @call "require") (#match? @import "^.\\."))
    """
_JAVASCRIPT = Tags(
    "tree_sitter_javascript",
    "language",
    f"""
    {_ECMA_DEFINITIONS}
    (class_declaration name: (identifier) @name) @type
    (field_definition property: (_) @name value: [(arrow_function) (function_expression)]) @function
    """,
    f"{_ECMA_REFERENCES} (class_heritage (identifier) @reference)"
    "(jsx_opening_element name: (identifier) @reference) (jsx_self_closing_element name: (identifier) @reference)",
    _ECMA_IMPORTS,
)
_TS_DEFINITIONS = f"""
    {_ECMA_DEFINITIONS}
    (class_declaration name: (_) @name) @type
    (abstract_class_declaration name: (_) @name) @type
    (interface_declaration name: (_) @name) @type
    (type_alias_declaration name: (_) @name) @type
    (enum_declaration name: (_) @name) @type
    (internal_module name: (_) @name) @type
    (module name: (_) @name) @type
    (function_signature name: (_) @name) @function
    (abstract_method_signature name: (_) @name) @function
    (method_signature name: (_) @name) @function
    (public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @function
    """
_TS_REFERENCES = f"{_ECMA_REFERENCES} (type_identifier) @reference (extends_clause value: (identifier) @reference)"
_TYPESCRIPT = Tags("tree_sitter_typescript", "language_typescript", _TS_DEFINITIONS, _TS_REFERENCES, _ECMA_IMPORTS)
_TSX = Tags(
    "tree_sitter_typescript",
    "language_tsx",
    _TS_DEFINITIONS,
    f"{_TS_REFERENCES} (jsx_opening_element name: (identifier) @reference)"
    "(jsx_self_closing_element name: (identifier) @reference)",
    _ECMA_IMPORTS,
)
_GO = Tags(
    "tree_sitter_go",
    "language",
    """
    (function_declaration name: (identifier) @name) @function
    (method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner))
        name: (field_identifier) @name) @function
    (method_elem name: (field_identifier) @name) @function
    (type_declaration (type_spec name: (type_identifier) @name)) @type
    (type_declaration (type_alias name: (type_identifier) @name)) @type
    (source_file (const_declaration (const_spec name: (identifier) @name) @variable))
    (source_file (var_declaration (var_spec name: (identifier) @name) @variable))
    """,
    """
    (call_expression function: [(identifier) @reference (selector_expression field: (_) @reference)])
    (type_identifier) @reference
    """,
    "(import_spec path: (_) @import)",
)
_RUST = Tags(
    "tree_sitter_rust",
    "language",
    """
    (function_item name: (_) @name) @function
    (function_signature_item name: (_) @name) @function
    (struct_item name: (_) @name) @type
    (enum_item name: (_) @name) @type
    (union_item name: (_) @name) @type
    (trait_item name: (_) @name) @type
    (type_item name: (_) @name) @type
    (mod_item name: (_) @name body: (_)) @type
    (macro_definition name: (_) @name) @function
    (const_item name: (_) @name) @variable
    (static_item name: (_) @name) @variable
    (impl_item type: (_) @name) @scope
    """,
    """
    (call_expression function: [(identifier) @reference (field_expression field: (_) @reference)
        (scoped_identifier name: (_) @reference)])
    (macro_invocation macro: (identifier) @reference)
    (type_identifier) @reference
    (use_declaration argument: (scoped_identifier name: (identifier) @reference))
    (use_list (identifier) @reference)
    """,
    unparsed="(macro_invocation (token_tree) @unparsed)",
)
_JAVA = Tags(
    "tree_sitter_java",
    "language",
    """
    (class_declaration name: (_) @name) @type
    (interface_declaration name: (_) @name) @type
    (enum_declaration name: (_) @name) @type
    (record_declaration name: (_) @name) @type
    (annotation_type_declaration name: (_) @name) @type
    (method_declaration name: (_) @name) @function
    (constructor_declaration name: (_) @name) @function
    """,
    """
    (method_invocation name: (identifier) @reference)
    (object_creation_expression type: (_) @reference)
    (type_identifier) @reference
    (import_declaration (scoped_identifier name: (identifier) @reference))
    """,
)
_C_DEFINITIONS = """
    (function_definition declarator: (_) @name) @function
    (struct_specifier name: (_) @name body: (_)) @type
    (union_specifier name: (_) @name body: (_)) @type
    (enum_specifier name: (_) @name body: (_)) @type
    (type_definition declarator: (type_identifier) @name) @type
    (declaration declarator: (function_declarator) @name) @function
    (declaration declarator: (pointer_declarator declarator: (function_declarator)) @name) @function
    (preproc_def name: (_) @name) @variable
    (preproc_function_def name: (_) @name) @function
    """
_C_REFERENCES = """
    (call_expression function: [(identifier) @reference (field_expression field: (_) @reference)])
    (type_identifier) @reference
    """
_C_IMPORTS = "(preproc_include path: [(string_literal) (system_lib_string)] @import)"
_C = Tags("tree_sitter_c", "language", _C_DEFINITIONS, _C_REFERENCES, _C_IMPORTS)
_CPP = Tags(
    "tree_sitter_cpp",
    "language",
    f"""
    {_C_DEFINITIONS}
    (class_specifier name: (_) @name body: (_)) @type
    (namespace_definition name: (_) @name) @scope
    (alias_declaration name: (_) @name) @type
    (concept_definition name: (_) @name) @type
    (field_declaration declarator: (function_declarator) @name) @function
    """,
    f"""
    {_C_REFERENCES}
    (call_expression function: (qualified_identifier name: (identifier) @reference))
    """,
    _C_IMPORTS,
)
_C_SHARP = Tags(
    "tree_sitter_c_sharp",
    "language",
    """
    (class_declaration name: (identifier) @name) @type
    (struct_declaration name: (identifier) @name) @type
    (interface_declaration name: (identifier) @name) @type
    (record_declaration name: (identifier) @name) @type
    (enum_declaration name: (identifier) @name) @type
    (delegate_declaration name: (identifier) @name) @type
    (method_declaration name: (identifier) @name) @function
    (constructor_declaration name: (identifier) @name) @function
    (local_function_statement name: (identifier) @name) @function
    (property_declaration name: (identifier) @name) @variable
    (field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @variable
    """,
    """
    (invocation_expression function: [(identifier) @reference (generic_name (identifier) @reference)
        (member_access_expression name: [(identifier) @reference (generic_name (identifier) @reference)])])
    (object_creation_expression type: [(identifier) @reference (generic_name (identifier) @reference)])
    (base_list [(identifier) @reference (generic_name (identifier) @reference)])
    (parameter type: [(identifier) @reference (generic_name (identifier) @reference)])
    (variable_declaration type: [(identifier) @reference (generic_name (identifier) @reference)])
    (method_declaration returns: [(identifier) @reference (generic_name (identifier) @reference)])
    (attribute name: (identifier) @reference)
    (using_directive (qualified_name name: (identifier) @reference))
    """,
)
_KOTLIN = Tags(
    "tree_sitter_kotlin",
    "language",
    """
    (class_declaration name: (identifier) @name) @type
    (object_declaration name: (identifier) @name) @type
    (type_alias type: (identifier) @name) @type
    (function_declaration name: (identifier) @name) @function
    (source_file (property_declaration (variable_declaration (identifier) @name)) @variable)
    """,
    """
    (call_expression . [(identifier) @reference (navigation_expression (identifier) @reference .)])
    (user_type (identifier) @reference)
    (import (qualified_identifier (identifier) @reference .))
    """,
)
_SWIFT = Tags(
    "tree_sitter_swift",
    "language",
    """
    (class_declaration name: (type_identifier) @name) @type
    (class_declaration name: (user_type (type_identifier) @name)) @scope
    (protocol_declaration name: (type_identifier) @name) @type
    (typealias_declaration name: (type_identifier) @name) @type
    (function_declaration name: (simple_identifier) @name) @function
    (protocol_function_declaration name: (simple_identifier) @name) @function
    (init_declaration "init" @name) @function
    (source_file (property_declaration name: (pattern (simple_identifier) @name)) @variable)
    """,
    """
    (call_expression . [(simple_identifier) @reference
        (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @reference))])
    (user_type (type_identifier) @reference)
    """,
    "(import_declaration (identifier) @import)",
)
_SCALA = Tags(
    "tree_sitter_scala",
    "language",
    """
    (class_definition name: (identifier) @name) @type
    (object_definition name: (identifier) @name) @type
    (trait_definition name: (identifier) @name) @type
    (enum_definition name: (identifier) @name) @type
    (type_definition name: (type_identifier) @name) @type
    (function_definition name: (identifier) @name) @function
    (function_declaration name: (identifier) @name) @function
    (compilation_unit (val_definition pattern: (identifier) @name) @variable)
    (given_definition name: (identifier) @name) @variable
    """,
    """
    (call_expression function: [(identifier) @reference (field_expression field: (identifier) @reference)
        (generic_function function: (identifier) @reference)])
    (type_identifier) @reference
    (import_declaration (identifier) @reference)
    """,
)
_HASKELL = Tags(
    "tree_sitter_haskell",
    "language",
    """
    (function name: (variable) @name) @function
    (declarations (bind name: (variable) @name) @function)
    (class_declarations (signature name: (variable) @name) @function)
    (data_type name: (name) @name) @type
    (newtype name: (name) @name) @type
    (type_synonym name: (name) @name) @type
    (class name: (name) @name) @type
    (instance name: (name) @name) @scope
    """,
    """
    (apply function: (variable) @reference)
    (infix [(variable) @reference (infix_id (variable) @reference)])
    (match expression: (variable) @reference)
    (import_name [(variable) @reference (name) @reference])
    (signature type: (_ (name) @reference))
    (apply constructor: (name) @reference)
    """,
)
_ZIG = Tags(
    "tree_sitter_zig",
    "language",
    """
    (function_declaration name: (identifier) @name) @function
    (variable_declaration . (identifier) @name
        [(struct_declaration) (enum_declaration) (union_declaration) (opaque_declaration)]) @type
    (source_file (variable_declaration . (identifier) @name) @variable)
    """,
    """
    (call_expression function: [(identifier) @reference (field_expression member: (identifier) @reference)])
    (parameter type: (identifier) @reference)
    (variable_declaration type: (identifier) @reference)
    """,
    """((builtin_function (builtin_identifier) @call (arguments (string) @import)) (#eq? @call "@import"))""",
)
_RUBY = Tags(
    "tree_sitter_ruby",
    "language",
    """
    (method name: (_) @name) @function
    (singleton_method name: (_) @name) @function
    (class name: (_) @name) @type
    (module name: (_) @name) @type
    (assignment left: (constant) @name) @variable
    """,
    """
    (call method: (identifier) @reference)
    (superclass [(constant) @reference (scope_resolution name: (constant) @reference)])
    (call receiver: [(constant) @reference (scope_resolution name: (constant) @reference)])
    (argument_list (constant) @reference)
    """,
    """
    (call method: (identifier) @call arguments: (argument_list . (string) @import)
        (#any-of? @call "require" "require_relative" "load"))
    """,
)
_PHP = Tags(
    "tree_sitter_php",
    "language_php",
    """
    (class_declaration name: (name) @name) @type
    (interface_declaration name: (name) @name) @type
    (trait_declaration name: (name) @name) @type
    (enum_declaration name: (name) @name) @type
    (function_definition name: (name) @name) @function
    (method_declaration name: (name) @name) @function
    (program (const_declaration (const_element (name) @name)) @variable)
    """,
    """
    (function_call_expression function: [(name) @reference (qualified_name (name) @reference)])
    (member_call_expression name: (name) @reference)
    (scoped_call_expression scope: (name) @reference)
    (scoped_call_expression name: (name) @reference)
    (object_creation_expression [(name) @reference (qualified_name (name) @reference)])
    (base_clause [(name) @reference (qualified_name (name) @reference)])
    (class_interface_clause [(name) @reference (qualified_name (name) @reference)])
    (named_type [(name) @reference (qualified_name (name) @reference)])
    (namespace_use_clause [(name) @reference (qualified_name (name) @reference)])
    (use_declaration (name) @reference)
    """,
)
_LUA = Tags(
    "tree_sitter_lua",
    "language",
    """
    (function_declaration name: (_) @name) @function
    (assignment_statement (variable_list . name: (_) @name) (expression_list . value: (function_definition))) @function
    (field name: (identifier) @name value: (function_definition)) @function
    (chunk (assignment_statement (variable_list . name: (identifier) @name)) @variable)
    (chunk (variable_declaration (assignment_statement (variable_list . name: (identifier) @name))) @variable)
    """,
    """
    (function_call name: [(identifier) @reference (dot_index_expression field: (identifier) @reference)
        (method_index_expression method: (identifier) @reference)])
    """,
    """
    (function_call name: (identifier) @call arguments: (arguments . (string) @import)
        (#any-of? @call "require" "dofile" "loadfile"))
    """,
)
_SHELL = Tags(
    "tree_sitter_bash",
    "language",
    """
    (function_definition name: (word) @name) @function
    (program (variable_assignment name: (variable_name) @name) @variable)
    (program (declaration_command (variable_assignment name: (variable_name) @name)) @variable)
    """,
    "(command name: (command_name (word) @reference))",
    """
    (command name: (command_name (word) @call) . argument: [(word) (string) (concatenation) (raw_string)] @import
        (#any-of? @call "source" "."))
    """,
)
_ELIXIR = Tags(
    "tree_sitter_elixir",
    "language",
    """
    (call target: (identifier) @word (arguments . (alias) @name)
        (#any-of? @word "defmodule" "defprotocol")) @type
    (call target: (identifier) @word (arguments . (alias) @name) (#eq? @word "defimpl")) @scope
    (call target: (identifier) @word
        (arguments . [(identifier) @name (call target: (identifier) @name)
            (binary_operator left: (call target: (identifier) @name) operator: "when")])
        (#any-of? @word "def" "defp" "defdelegate" "defguard" "defguardp" "defmacro" "defmacrop" "defn"
            "defnp")) @function
    """,
    """
    (call target: (identifier) @reference (#not-match? @reference
        "^(def.*|alias|import|require|use|if|unless|case|cond|for|with|raise|quote|unquote|(module|type)?doc|spec|type|opaque|callback)$"))
    (call target: (dot right: (identifier) @reference))
    (binary_operator operator: "|>" right: (identifier) @reference)
    (alias) @reference
    """,
)

TAGS = {
    "python": (_PYTHON, ".py .pyi .pyw"),
    "javascript": (_JAVASCRIPT, ".js .jsx .mjs .cjs"),
    "typescript": (_TYPESCRIPT, ".ts .mts .cts"),
    "tsx": (_TSX, ".tsx"),
    "go": (_GO, ".go"),
    "rust": (_RUST, ".rs"),
    "java": (_JAVA, ".java"),
    "c": (_C, ".c .h"),
    "cpp": (_CPP, ".cc .cpp .cxx .hh .hpp .hxx .cu .cuh .inl .ino"),
    "csharp": (_C_SHARP, ".cs"),
    "kotlin": (_KOTLIN, ".kt .kts"),
    "swift": (_SWIFT, ".swift"),
    "scala": (_SCALA, ".scala .sc"),
    "haskell": (_HASKELL, ".hs"),
    "zig": (_ZIG, ".zig"),
    "ruby": (_RUBY, ".rb .rake .gemspec"),
    "php": (_PHP, ".php"),
    "lua": (_LUA, ".lua"),
    "shell": (_SHELL, ".sh .bash .zsh .ksh"),
    "elixir": (_ELIXIR, ".ex .exs"),
}
"""Tags and the suffixes that they are for, by the language's name."""

LANGUAGE_OF = {suffix: name for name, (_, suffixes) in TAGS.items() for suffix in suffixes.split()}
"""The language's name by a path's suffix."""

_METADATA = (".dist-info", ".egg-info")


def language_name(path: str) -> str | None:
    """Return the language of a path's suffix, if there may be a grammar for it."""
    return LANGUAGE_OF.get(language_suffix(path))


@cache
def fingerprints() -> Mapping[str, str]:
    """Return a fingerprint of each language's grammar and queries: with another one, its files must be parsed again.

    Reads the versions of the installed packages without loading them.
    """
    versions = _installed()
    core = versions.get("tree_sitter", "")
    return {
        name: blake2b(repr((core, versions.get(tags.module, ""), *tags)).encode(), digest_size=8).hexdigest()
        for name, (tags, _) in TAGS.items()
    }


def _installed() -> dict[str, str]:
    """Return the versions of tree-sitter and its grammars, by module: packages are named like their modules.

    From the names of the metadata folders (PEP 376); importing `importlib.metadata` takes longer than a search.
    """
    found: dict[str, str] = {}
    # Not the working folder, which an empty part of the path is.
    for folder in filter(None, sys.path):
        try:
            entries = list(Path(folder).iterdir())
        except OSError:
            continue
        for entry in entries:
            module, dash, rest = entry.name.partition("-")
            if dash and module.startswith("tree_sitter") and rest.endswith(_METADATA):
                found.setdefault(module, rest.rpartition(".")[0])
    return found
