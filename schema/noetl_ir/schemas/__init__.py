"""JSON Schemas (draft 2020-12) of untrusted authors, held against untrusted values.

Nothing is fetched: a `$ref` leads into the schema itself. Sizes and depths are bounded, patterns cannot hang
(`patterns`), and holding a value against a schema has a budget of work that follows from both alone, so that the
verdict is the same at a replay. `misuses` is asked when a playbook is read and of every plan, `faults` of values.
"""

from noetl_ir.schemas.reading import SchemaFault, is_text, misuses
from noetl_ir.schemas.values import faults

__all__ = ["SchemaFault", "faults", "is_text", "misuses"]
