"""Declared inputs (`executor.spec.inputs`): names to JSON Schemas, each with `required` (EXTENSIONS.md §2)."""

from noetl_ir.expr import Json, Literal
from noetl_ir.scopes import RESERVED
from noetl_ir.span import Span
from noetlc.ast.playbook import Input, Playbook
from noetlc.diag.diagnostic import Fix, Related
from noetlc.reading.reader import Reader
from noetlc.reading.shapes import boolean_of, is_empty, wrong_shape
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, value_of

_INPUTS, REQUIRED = "`inputs`", "required"
MAX_INPUTS = 1_000


def read_inputs(r: Reader, node: Node) -> list[Input] | None:
    """The declared inputs; None where nothing declares any. `{}` declares that there are none."""
    if is_empty(node):
        return None
    if not isinstance(node, Mapping):
        wrong_shape(r, node, _INPUTS, "a mapping")
        return None
    if len(node.index) > MAX_INPUTS:
        r.report("NL121", f"{len(node.index):,} inputs are declared; at most {MAX_INPUTS:,} are read", node.span)
        return None
    return [_input(r, name, key, value) for name, (key, value) in node.index.items()]


def _input(r: Reader, name: str, key: Scalar, node: Node) -> Input:
    if name in RESERVED:
        message = f"an input cannot be named `{name}`: that is a scope of expressions"
        r.report("NL212", message, key.span, help="choose another name")
    if is_empty(node):  # any value
        return Input(name, key.span, False, {}, node)
    required, schema = False, value_of(node)
    if isinstance(schema, dict) and isinstance(node, Mapping) and not isinstance(schema.get(REQUIRED), list):
        # A list is JSON Schema's own keyword, for the keys of a mapping; a boolean is about the input.
        schema.pop(REQUIRED, None)
        stated = node.get(REQUIRED)
        required = stated is not None and bool(boolean_of(r, stated, f"`required` of the input `{name}`"))
    is_usable = not _told(r, name, schema, node)
    return Input(name, key.span, required, schema if is_usable and isinstance(schema, dict) else {}, node)


def _told(r: Reader, name: str, schema: Json, node: Node) -> bool:
    """Report what is wrong with a schema; whether anything is."""
    from noetl_ir.schemas import misuses  # most files have none

    if isinstance(schema, bool):
        r.report("NL121", f"the input `{name}`: a schema is a mapping", node.span, help="write `{}` for any value")
        return True
    found = misuses(schema)
    for misuse in found:
        key, value = _at(node, misuse.path)
        word = misuse.path[-1] if misuse.path else ""
        about = f"the input `{name}`: {misuse.message}"
        if word == "default":
            written = value.text if isinstance(value, Scalar) and len(misuse.path) == 1 else "…"
            help = f"a schema fills in nothing: write `workload: {{{name}: {written}}}`"
            r.report("NL122", f"the input `{name}`: `default` stands in its schema", (key or value).span, help=help)
        elif key is not None and misuse.message.startswith("unknown keyword"):
            help = misuse.help
            if not help and (meant := _MEANT.get(word)):
                help = f"write `{meant}`"
            fix = _fix(key.span, misuse.fix)
            r.report("NL101", f"{about} of JSON Schema", key.span, help=help, fix=fix)
        else:
            r.report("NL121", about, value.span, help=misuse.help, fix=_fix(value.span, misuse.fix))
    return bool(found)


def check_defaults(r: Reader, playbook: Playbook) -> None:
    """Report values of the workload that are no templates and do not fit the schemas of their inputs."""
    from noetl_ir.schemas import faults

    inputs, spans = {one.name: one for one in playbook.executor.inputs or ()}, dict(playbook.workload_spans)
    for key, value in playbook.workload:
        one = inputs.get(key)
        # The value of one that must be brought never stands alone: what is brought replaces it, or is merged over it.
        if one is None or one.required or not isinstance(value.template, Literal):
            continue
        for fault in faults(one.schema, value.template.value, key)[:1]:
            help = "let the value fit, or the schema allow it"
            if value.template.value is None:
                help = f"leave `{key}` out of `workload`: an input that is not given is null"
            related = (Related(one.name_span, "the schema"),)
            r.report("NL416", f"the default of the input {fault}", spans[key], help=help, related=related)


_MEANT = {"values": "enum: [ … ]", "choices": "enum: [ … ]", "options": "enum: [ … ]", "optional": "required: false"}
_MEANT |= {"nullable": "type: [ …, 'null']", "regex": "pattern: …", "min": "minimum: …", "max": "maximum: …"}
_MEANT |= {"kind": "type: …", "desc": "description: …", "help": "description: …", "fields": "properties: { … }"}


def _fix(span: Span, text: str) -> Fix | None:
    return Fix(span, text, f"write `{text}`", safe=False) if text else None


def _at(node: Node, path: tuple[str, ...]) -> tuple[Scalar | None, Node]:
    """The key and the value at a path of a node, as far as it leads."""
    key: Scalar | None = None
    for word in path:
        if isinstance(node, Mapping) and (entry := node.index.get(word)) is not None:
            key, node = entry
        elif isinstance(node, Sequence) and word.isdecimal() and int(word) < len(node.items):
            key, node = None, node.items[int(word)]
    return key, node
