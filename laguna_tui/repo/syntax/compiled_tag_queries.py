"""Tags of C#, Kotlin, Swift, Scala, Haskell and Zig."""

from laguna_tui.repo.syntax.tags import Tags

C_SHARP = Tags(
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
KOTLIN = Tags(
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
SWIFT = Tags(
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
SCALA = Tags(
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
HASKELL = Tags(
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
ZIG = Tags(
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
