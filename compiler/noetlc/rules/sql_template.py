"""sql-template: a template is rendered into the text of an SQL statement.

Why it matters
    The value becomes part of the statement: a quote in it ends the literal, and what follows is run as SQL.
Example
    command: "SELECT * FROM users WHERE name = '{{ _prev.name }}'"
Instead
    command: "SELECT * FROM users WHERE name = %(name)s"
    params: {name: "{{ _prev.name }}"}
    Each task is told once, at the first such place. Nothing is said of numbers (`| int`), of texts that are written
    out, and of values within quotes whose own quotes are doubled (`| replace("'", "''")`). Values of `workload` that
    are written out are the author's: a file has one note about them, and none where they have no character that SQL
    reads as its own.
When to ignore
    Where a name of a table or column has to be put in, and comes from the author of the playbook alone.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr, Native
from noetl_ir.span import Span
from noetlc.analysis.feeds import Feed, is_harmless
from noetlc.ast.playbook import Value
from noetlc.ast.walk import expressions_in
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.block_reads import printed_in_blocks
from noetlc.rules import LintRule, Unit, and_more
from noetlc.source.nodes import Scalar

_HELP = "bind it: write a placeholder in the statement and give the value in `params`"


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Expressions in SQL text that data from outside feeds, by task, those inside of quotes first: the message says
    what may happen there. Those that the workload feeds, all at once.
    """
    ours: list[Span] = []
    for step, task, value in unit.programs["sql"]:
        quoted: list[Span] = []
        bare: list[Span] = []
        for expr, scalar, quote in _placed(value):
            if is_harmless(expr, quote):
                continue
            feed, span = unit.feeds.feed_of(expr, step, task), unit.source.inner_span(scalar, expr.start, expr.end)
            if isinstance(value.template, Native) and feed <= Feed.AUTHOR:
                continue  # the statement is an input of the playbook
            if feed > Feed.PLAIN:
                (ours if feed is Feed.AUTHOR else quoted if quote else bare).append(span)
        if quoted or bare:
            what = "a quote in this value ends the literal, and what follows is run"
            what = what if quoted else "this value becomes part of the statement"
            more = and_more([*quoted, *bare], "here")
            yield RULE.finding(f"SQL of `{task.name}`: {what}{more}", (quoted or bare)[0], help=_HELP)
    if ours:
        what = "a value of the workload becomes part of a statement, and a payload may bring another"
        yield RULE.note(f"{what}{and_more(ours, 'in this file')}", ours[0], help=_HELP)


def _placed(value: Value) -> Iterator[tuple[Expr, Scalar, str]]:
    """The expressions of a value, each with its scalar and the quote of the literal that it stands in, "" outside: an
    odd number of quotes stands before it, those in templates aside.
    """
    before: Scalar | None = None
    at, quotes = 0, 0
    for expr, scalar in expressions_in(value):
        if scalar is None:
            continue
        if scalar is not before:
            before, at, quotes = scalar, 0, 0
        # Counted between templates only: a quote inside of one belongs to its expression.
        quotes += scalar.text.count("'", at, max(scalar.text.rfind("{{", at, expr.start), at))
        closed = scalar.text.find("}}", expr.end)
        at = closed + 2 if closed >= 0 else len(scalar.text)
        yield expr, scalar, "'" if quotes % 2 else ""
    # Which literal a part of a block template stands in only its run shows.
    yield from ((expr, scalar, "") for expr, scalar in printed_in_blocks(value))


RULE = LintRule("NL801", Severity.WARNING, "ast", check, about=("sql",))
