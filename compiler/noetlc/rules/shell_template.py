"""shell-template: a template is rendered into the text of a shell command.

Why it matters
    The value becomes part of the command: a quote, a `;` or a `$(…)` in it is run by the shell.
Example
    - {kind: shell, command: "grep '{{ fetch.data.word }}' names.txt"}
Instead
    - {kind: shell, command: 'grep "$WORD" names.txt', env: {WORD: "{{ fetch.data.word }}"}}
    Each task is told once, at the first such place. Values of `workload` that are written out are the author's: a
    file has one note about them, and none where they have no character that a shell reads as its own.
When to ignore
    Where the value cannot hold anything but letters and digits, as an id made by this playbook.
"""

from collections.abc import Iterator

from noetl_ir.span import Span
from noetlc.analysis.feeds import Feed, is_harmless
from noetlc.ast.walk import expressions_in
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.block_reads import printed_in_blocks
from noetlc.rules import LintRule, Unit, and_more

_HELP = 'pass it through `env: {NAME: "{{ … }}"}` and write `"$NAME"` in the command'


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Expressions in shell text that data from outside feeds, by task; those that the workload feeds, all at once."""
    ours: list[Span] = []
    for step, task, value in unit.programs["shell"]:
        fed: list[Span] = []
        for expr, scalar in (*expressions_in(value), *printed_in_blocks(value)):
            # Who decides the value is what counts: the engine's ids and numbers cannot end a command.
            feed = Feed.ENGINE if scalar is None or is_harmless(expr) else unit.feeds.feed_of(expr, step, task)
            if scalar is not None and feed > Feed.PLAIN:
                (fed if feed is Feed.OUTSIDE else ours).append(unit.source.inner_span(scalar, expr.start, expr.end))
        if fed:
            message = f"shell of `{task.name}`: this value becomes part of the command{and_more(fed, 'here')}"
            yield RULE.finding(message, fed[0], help=_HELP)
    # All at once and as a note: an author who writes a path into his own workload need not hear it for each command.
    if ours:
        message = "a value of the workload becomes part of a command, and a payload may bring another"
        yield RULE.note(f"{message}{and_more(ours, 'in this file')}", ours[0], help=_HELP)


RULE = LintRule("NL808", Severity.WARNING, "ast", check, about=("shell",))
