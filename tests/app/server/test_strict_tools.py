"""Tools that a client marks as strict: the model's calls keep to their schemas, whatever it would say."""

import json
from typing import Any

import pytest

from tests.app.server.serving import Served

PARAMETERS = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "enum": ["red", "green"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["colour", "count"],
    "additionalProperties": False,
}


def tool(*, strict: bool, **parameters: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": "paint", "description": "Paint.", "parameters": PARAMETERS | parameters, "strict": strict},
    }


@pytest.mark.parametrize("chosen", ["required", {"type": "function", "function": {"name": "paint"}}])
def test_the_bundled_model_calls_a_strict_tool_by_its_schema(nano: Served, chosen: Any):
    """It was trained on other tools and would write other arguments."""
    answered = nano.chat("where is total defined?", tools=[tool(strict=True)], tool_choice=chosen, max_tokens=200)
    (call,) = answered.body["choices"][0]["message"]["tool_calls"]
    assert call["function"]["name"] == "paint"
    arguments = json.loads(call["function"]["arguments"])
    assert arguments["colour"] in ("red", "green")
    assert 1 <= arguments["count"] <= 9
    assert set(arguments) == {"colour", "count"}


def test_a_schema_that_cannot_be_used_is_refused(nano: Served):
    bad = tool(strict=True, properties={"count": {"type": "integer", "minimum": "one"}}, required=["count"])
    answered = nano.chat("hello", tools=[bad])
    assert (answered.status, answered.body["error"]["param"]) == (400, "tools")
    assert (
        nano.chat("hello", tools=[bad | {"function": bad["function"] | {"strict": False}}], max_tokens=3).status == 200
    )
