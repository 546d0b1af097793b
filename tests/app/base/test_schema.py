"""One declaration of a field: its check, the sentence about a wrong value, its JSON schema, its documentation."""

from dataclasses import dataclass

import pytest

from laguna_tui.base.schema import declarations, declared, json_schema, unknown_names


@dataclass(frozen=True, slots=True)
class Oven:
    dish: str = declared(help="what is baked")
    heat: float = declared(180.0, minimum=0, above=True, maximum=300, unit="degrees")
    mode: str = declared("fan", choices=("fan", "grill"), more_choices=lambda: ("steam",))
    racks: int | None = declared(None, "how many", minimum=1, lowest="the middle one", without="as many as fit")
    shelves: int = declared(1, minimum=0, maximum=lambda: 4, highest="the slots of this oven")
    light: bool = declared(False, required=True)
    serial: str = "not declared"


def wrong(name, value):
    return declarations(Oven)[name].wrong(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("dish", ""), ("heat", 1), ("heat", 300.0), ("mode", "steam"), ("racks", None), ("racks", 7), ("light", True)],
)
def test_a_value_of_its_type_and_in_its_range_is_right(name, value):
    assert wrong(name, value) == ""


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("dish", 5, " is not a text"),
        ("dish", None, " is not a text"),
        ("heat", "hot", " is not a number; it must be above 0, at most 300 degrees"),
        ("heat", 0, "; it must be above 0, at most 300 degrees"),
        ("heat", float("nan"), "; it must be above 0, at most 300 degrees"),
        ("heat", float("inf"), "; it must be above 0, at most 300 degrees"),
        ("mode", "off", "; it must be one of fan, grill, steam"),
        ("racks", True, " is not a whole number; it must be 1 (the middle one) or more"),
        ("racks", 0, "; it must be 1 (the middle one) or more"),
        ("shelves", 5, "; it must be between 0 and 4 (the slots of this oven)"),
        ("light", 1, " is not true or false"),
    ],
)
def test_a_wrong_one_gets_a_sentence_with_what_is_allowed(name, value, sentence):
    assert wrong(name, value) == sentence


def test_a_field_without_a_declaration_is_none_of_its_keys():
    assert unknown_names(Oven, ["serial", "dish", "door"]) == ["door", "serial"]


def test_the_schema_has_types_choices_and_help_and_no_ranges():
    assert json_schema(Oven) == {
        "type": "object",
        "properties": {
            "dish": {"type": "string", "description": "what is baked"},
            "heat": {"type": "number"},
            "mode": {"type": "string", "enum": ["fan", "grill"]},
            "racks": {"type": "integer", "description": "how many"},
            "shelves": {"type": "integer"},
            "light": {"type": "boolean"},
        },
        "required": ["dish", "light"],
    }


def test_a_limit_of_the_machine_is_named_in_the_documentation():
    shelves = declarations(Oven)["shelves"]
    assert shelves.allowed_anywhere == "between 0 and the slots of this oven"
    assert declarations(Oven)["heat"].allowed_anywhere == declarations(Oven)["heat"].allowed


def test_the_default_is_described_for_a_reader():
    said = {name: field.default_text for name, field in declarations(Oven).items() if name != "dish"}
    assert said == {"heat": "180.0", "mode": "fan", "racks": "as many as fit", "shelves": "1", "light": "no"}
