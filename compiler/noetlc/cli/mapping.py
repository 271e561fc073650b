"""`python -m noetlc.cli.mapping`: the templates of a document beside playbooks, read.

For the runtime, which has no parser of expressions. On standard input is JSON: `values` (name to a value with
templates) and `names` (name to the names that its expressions may read). The answer is JSON, too: `errors`, each the
path of a key and a sentence, and without any `templates` in the form that the runtime evaluates. No command of
`noetlc`.
"""

import json
import sys
from collections.abc import Collection, Iterator, Mapping

from noetl_ir.expr import Block, Json, ListTemplate, Literal, MapTemplate, Name, Template, expressions_of, walk
from noetl_ir.nearest import nearest
from noetl_ir.plan_format.json import templates_to_json
from noetlc.expr.parser import parse_template

MappingError = tuple[list[str], str]
_BLOCKS = "`{% %}` is not known here: write an expression, as in `{{ body.id }}`"


def template_in(value: Json, path: list[str], names: Collection[str], errors: list[MappingError]) -> Template:
    """The template that a value is; what is wrong with it goes to `errors`."""
    match value:
        case str():
            parsed = parse_template(value)
            errors += [(path, error.message + (f": {error.help}" if error.help else "")) for error in parsed.errors]
            errors += [(path, text) for text in _strange(parsed.template, names)]
            return parsed.template
        case dict():
            pairs = tuple([(key, template_in(inner, [*path, key], names, errors)) for key, inner in value.items()])
            return MapTemplate(pairs)
        case list():
            return ListTemplate(tuple([template_in(inner, path, names, errors) for inner in value]))
    return Literal(value)


def _strange(template: Template, names: Collection[str]) -> Iterator[str]:
    """Sentences about what no such template may have."""
    if isinstance(template, Block):
        yield _BLOCKS
        return
    for expr in expressions_of(template):
        for part in walk(expr):
            if isinstance(part, Name) and part.name not in names:
                near = nearest(part.name, [*names])
                meant = f"did you mean `{near}`?" if near else f"known are {', '.join(f'`{name}`' for name in names)}"
                yield f"there is no `{part.name}` here: {meant}"


def mapped(values: Mapping[str, Json], names: Mapping[str, Collection[str]]) -> dict[str, Json]:
    """The answer about some values."""
    errors: list[MappingError] = []
    templates = {name: template_in(value, [name], names.get(name, ()), errors) for name, value in values.items()}
    told: list[Json] = [[[*path], text] for path, text in errors]
    return {"errors": told} if told else {"errors": [], **templates_to_json(templates)}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    print(json.dumps(mapped(asked["values"], asked["names"])))
