"""What a tool kind promises: its fields, knobs, outcome extras and effects, as plain data.

One kind, one module, each exporting `KIND`. The compiler checks playbooks against these tables and generates
JSON Schema from them; the worker renders exactly the fields that are templates. Third parties add kinds through
the entry-point group `noetl.kinds` (LANGUAGE §7).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Shape: TypeAlias = Literal["any", "text", "integer", "number", "boolean", "duration", "map", "list", "map of text"]
"""What a field's value may be once rendered; a template may stand wherever a value may."""

Text: TypeAlias = Literal["template", "code", "sql", "shell", "literal"]
"""How text in a field is read: a template; program text that is never rendered; SQL text and shell text, which are
templates with a lint warning, and where braces that are no expression stay as written; or never a template at all."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a task of this kind. `shapes` are alternatives; `values` a closed list where there is one."""

    shapes: tuple[Shape, ...] = ("any",)
    text: Text = "template"
    required: bool = False
    values: tuple[str, ...] = ()
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """The contract of a tool kind.

    `fields`: what may stand beside `name kind desc spec args` in a task. `knobs`: what `task.spec` may hold beside
    `policy` and `timeout`; only these are inherited from outer specs. `one_of`: sets of fields of which exactly one
    must be given. `extras`: attributes of `outcome.<key>` (e.g. `http` → status, headers). `pure`: has no effect
    outside, so that its start may share a transaction with its end. `parks`: waits outside a worker (`wait`,
    `playbook`). `available`: false for kinds that compile with a warning and give `kind.unavailable`.
    """

    name: str
    summary: str
    fields: Mapping[str, Field] = field(default_factory=dict)
    knobs: Mapping[str, Field] = field(default_factory=dict)
    one_of: tuple[tuple[str, ...], ...] = ()
    extras: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    result: str = ""
    pure: bool = False
    parks: bool = False
    available: bool = True
