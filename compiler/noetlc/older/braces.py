"""Braces of a template in the `code` of a python task, outside of its strings: the value, given as an arg.

    code: "n = {{ workload.size }} * 2"   →   args: {__brace1: "{{ workload.size }}"}, code: "n = __brace1 * 2"

Old engines rendered code before Python saw it. No Python that runs has an expression in double braces (a set of sets),
so nothing else can be meant. What stands in strings is left alone: there it is Python too, and a finding says so.
"""

from collections.abc import Iterator
from itertools import accumulate, pairwise
from tokenize import NAME, NUMBER, OP, TokenError, TokenInfo, generate_tokens

from noetl_ir.expr import Filter, Literal, MapTemplate, Template
from noetlc.ast.playbook import Value
from noetlc.ast.workbook import pairs_of, template_of_pairs
from noetlc.expr.errors import TemplateError
from noetlc.expr.generated import generated_name
from noetlc.expr.parser import parse_expression
from noetlc.expr.templates import native
from noetlc.reading.drafts import TaskDraft
from noetlc.reading.reader import Reader


def read_braces(r: Reader, draft: TaskDraft, code: Value) -> None:
    """Take the braces out of the code of a task, and give what stood in them as args."""
    text = code.template.value if isinstance(code.template, Literal) else None
    if not isinstance(text, str) or (draft.args is not None and not isinstance(draft.args.template, _MAPPINGS)):
        return
    found: dict[str, Template] = {}
    parts, at = [], 0
    for start, end, template in _braces(text):
        name = next((name for name, one in found.items() if one == template), None)
        name = name or generated_name(f"brace{len(found) + 1}")
        found[name] = template
        parts += [text[at:start], name]
        at = end
    if not found:
        return
    r.respelt(code.span, "braces of a template in code", "args that the code reads", "review")
    made = Value(Literal("".join([*parts, text[at:]])), code.span, None)
    draft.fields = [(name, made if name == "code" else value) for name, value in draft.fields]
    own = {} if draft.args is None else pairs_of(draft.args.template) or {}
    span = code.span if draft.args is None else draft.args.span
    draft.args = Value(template_of_pairs({**own, **found}), span, None)


_MAPPINGS = (MapTemplate, Literal)


def _braces(text: str) -> Iterator[tuple[int, int, Template]]:
    """Where braces with an expression stand between the tokens of code, and what they give. None where they touch a
    name or a number, of which they would be a part.
    """
    lines = [f"{line}\n" for line in text.split("\n")]
    begins = [0, *accumulate(map(len, lines))]
    places = [(begins[token.start[0] - 1] + token.start[1], token) for token in _tokens(lines)]
    ends = [at + 2 for (at, token), (other, following) in _adjacent(places) if token.string == following.string == "}"]
    done = 0
    for (start, token), (_, following) in _adjacent(places):
        if token.string != "{" or following.string != "{" or start < done:
            continue
        for end in [end for end in ends if end > start + 4][:_TRIES]:
            try:
                expr = parse_expression(text[start + 2 : end - 2], start + 2)
            except TemplateError:
                continue
            if not _touches(places, start, end):
                # Code has the value where text had its JSON.
                yield start, end, native(expr.of if isinstance(expr, Filter) and expr.name == "tojson" else expr)
            done = end
            break


_TRIES = 4
"""How many closing braces are tried for an opening pair: a bound, so that odd code stays linear."""

_Places = list[tuple[int, TokenInfo]]


def _tokens(lines: list[str]) -> list[TokenInfo]:
    found: list[TokenInfo] = []
    try:
        for token in generate_tokens(iter(lines).__next__):
            found.append(token)
    except (TokenError, SyntaxError):
        pass  # code that ends in the middle of something is said to be no Python elsewhere
    return found


def _adjacent(places: _Places) -> Iterator[tuple[tuple[int, TokenInfo], tuple[int, TokenInfo]]]:
    """Two operators of which nothing stands between."""
    for first, second in pairwise(places):
        if first[1].type == second[1].type == OP and first[0] + 1 == second[0]:
            yield first, second


def _touches(places: _Places, start: int, end: int) -> bool:
    words = [(at, at + len(token.string)) for at, token in places if token.type in (NAME, NUMBER)]
    return any(first == end or last == start for first, last in words)
