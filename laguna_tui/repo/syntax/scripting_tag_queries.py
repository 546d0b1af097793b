"""Tags of Ruby, PHP, Lua, shell and Elixir."""

from laguna_tui.repo.syntax.tags import Tags

RUBY = Tags(
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
PHP = Tags(
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
LUA = Tags(
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
SHELL = Tags(
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
ELIXIR = Tags(
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
