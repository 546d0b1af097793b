"""What defines and what refers to a name in each grammar's syntax tree; and the table of all languages."""

from laguna_tui.repo.syntax.compiled_tag_queries import C_SHARP, HASKELL, KOTLIN, SCALA, SWIFT, ZIG
from laguna_tui.repo.syntax.scripting_tag_queries import ELIXIR, LUA, PHP, RUBY, SHELL
from laguna_tui.repo.syntax.tags import Tags

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
    "csharp": (C_SHARP, ".cs"),
    "kotlin": (KOTLIN, ".kt .kts"),
    "swift": (SWIFT, ".swift"),
    "scala": (SCALA, ".scala .sc"),
    "haskell": (HASKELL, ".hs"),
    "zig": (ZIG, ".zig"),
    "ruby": (RUBY, ".rb .rake .gemspec"),
    "php": (PHP, ".php"),
    "lua": (LUA, ".lua"),
    "shell": (SHELL, ".sh .bash .zsh .ksh"),
    "elixir": (ELIXIR, ".ex .exs"),
}
"""Tags and the suffixes that they are for, by the language's name."""

LANGUAGE_OF = {suffix: name for name, (_, suffixes) in TAGS.items() for suffix in suffixes.split()}
"""The language's name by a path's suffix."""
