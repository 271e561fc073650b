"""The JSON form of a plan as text, and its schema."""

import json

from noetl_ir.plan import Plan
from noetl_ir.plan_format.json import plan_schema, plan_to_json


def emitted(plan: Plan) -> bytes:
    """One JSON document, ASCII, ending in a line break."""
    return (json.dumps(plan_to_json(plan), indent=1) + "\n").encode("ascii")


def schema_text() -> str:
    """The JSON Schema of that document."""
    return json.dumps(plan_schema(), indent=2) + "\n"
