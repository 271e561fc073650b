"""The plan's pool of templates: equal ones stand in it once, so that the evaluator compiles them once."""

from noetl_ir.expr import Block, Expr, ListTemplate, Literal, MapTemplate, Native, Template, Text
from noetl_ir.plan_format.nodes import Expressions
from noetl_ir.span import Span
from noetlc.ast.playbook import Guard, Value, WrittenAt, span_at
from noetlc.ast.workbook import template_of_pairs


class TemplatePool:
    """Templates by index, each with the span where it was first written.

    Equality looks into the nodes and at the text as written, never at object identity, so that what the
    parser's cache holds cannot show in a plan.
    """

    def __init__(self) -> None:
        self.templates: list[Template] = []
        self.spans: list[Span] = []
        self._index: dict[object, int] = {}
        self._known: dict[int, int] = {}
        self._kept: list[Template] = []  # an id in `_known` must not be given to another object
        self._expressions = Expressions()

    def add_template(self, template: Template, place: WrittenAt) -> int:
        """The index of the template."""
        # By object first: the parser gives equal texts the same template, and a key of a large one costs a walk over
        # it.
        found = self._known.get(id(template))
        if found is None:
            key = self._key(template)
            found = self._index.get(key)
            if found is None:
                found = self._index[key] = len(self.templates)
                self.templates.append(template)
                self.spans.append(span_at(place))
            self._kept.append(template)
            self._known[id(template)] = found
        return found

    def value(self, value: Value | None) -> int:
        """The index of a value's template, -1 for none."""
        return -1 if value is None else self.add_template(value.template, value.place)

    def apart(self, value: Value | None) -> int:
        """The index of a value's template, an entry of its own where it computes; -1 for none.

        For what stands at the playbook as a whole: no step names the place of a fault there, so that this is the place
        of its template.
        """
        if value is None or isinstance(value.template, Literal):
            return self.value(value)
        self.templates.append(value.template)
        self.spans.append(span_at(value.place))
        return len(self.templates) - 1

    def ended_by(self, workload: tuple[tuple[str, Value], ...]) -> tuple[Template, ...]:
        """All templates, with the computed values of the workload as the last ones, each by itself: who reads a plan
        finds the place of a fault in one of them there.
        """
        for _, value in workload:
            if not isinstance(value.template, Literal):
                self.apart(value)
        return tuple(self.templates)

    def guard(self, guard: Guard | None) -> int:
        """The index of a guard's expression, -1 for none."""
        return -1 if guard is None else self.expression(guard.expr, guard.text, guard.place)

    def expression(self, expr: Expr, text: str, place: WrittenAt) -> int:
        """The index of a lone expression; a guard's text stands without braces."""
        # The text counts, too: a plan shows guards as their author wrote them, and two spellings are two templates.
        key = ("guard", self._expressions.add_expression(expr), text)
        found = self._index.get(key)
        if found is None:
            found = self._index[key] = len(self.templates)
            self.templates.append(Native(expr, text))
            self.spans.append(span_at(place))
        return found

    def mapping(self, items: tuple[tuple[str, Value], ...], span: Span) -> int:
        """The index of the mapping of some named values, -1 when there are none."""
        return self.add_template(mapping_of(items), span) if items else -1

    def pairs(self, items: tuple[tuple[str, Value], ...]) -> tuple[tuple[str, int], ...]:
        """Named values, each under its own index."""
        return tuple([(name, self.add_template(value.template, value.place)) for name, value in items]) if items else ()

    def _key(self, template: Template) -> object:
        match template:
            case Literal(value=value):
                return repr(value)  # tells 1, 1.0 and True apart, and keeps the order of keys
            case Native(expr=expr, text=text):
                return (self._expressions.add_expression(expr), text)
            case Text(parts=parts, text=text):
                return (
                    "text",
                    tuple(
                        [part if isinstance(part, str) else self._expressions.add_expression(part) for part in parts]
                    ),
                    text,
                )
            case MapTemplate(items=items):
                return ("map", tuple([(name, self._key(inner)) for name, inner in items]))
            case ListTemplate(items=entries):
                return ("list", tuple([self._key(inner) for inner in entries]))
            case Block(text=text):
                return ("block", text)


def mapping_of(items: tuple[tuple[str, Value], ...]) -> Template:
    """One template of named values; of a name given twice the last counts."""
    return template_of_pairs({name: value.template for name, value in items})
