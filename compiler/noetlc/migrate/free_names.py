"""Names that nothing declares: older engines looked for them in the payload, canonical source says so.

url: "{{ api_url }}"    →    url: "{{ workload.api_url }}"
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr, Name, walk
from noetl_ir.records import NamedTuple
from noetlc.ast.playbook import Guard, Value
from noetlc.ast.walk import blocks_in, expressions_in
from noetlc.ast.workload import SCOPE
from noetlc.diag.change import Change
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic
from noetlc.expr.binding import bound, with_blocks
from noetlc.expr.block_names import free_names
from noetlc.expr.secret_names import is_secret_name
from noetlc.expr.shorthand import path
from noetlc.expr.templates import Templated, guard_with, map_templated, template_with
from noetlc.older import ABSENT
from noetlc.pipeline import Document
from noetlc.reading.places import UndeclaredName


class WrittenOut(NamedTuple):
    """A document whose playbook has every free name as a key of the workload, what was changed, and where that cannot
    be.
    """

    document: Document
    changes: tuple[Change, ...]
    refused: tuple[Diagnostic, ...]


def written_out(document: Document) -> WrittenOut:
    """A document with its free names written out; itself where it has none."""
    if document.playbook is None or not document.unknown:
        return WrittenOut(document, (), ())
    words: dict[int, list[str]] = {}
    for unknown in document.unknown:
        # By the object that holds the name: the same text elsewhere may stand where the name is declared.
        words.setdefault(id(unknown.holder), []).append(unknown.free)
    seen: dict[int, int] = {}

    def each(templated: Templated) -> Templated:
        free = frozenset(words.get(id(templated), ()))
        # Counted, because a pass may have put one value into several places, in some of which the name means
        # something.
        seen[id(templated)] = seen.get(id(templated), 0) + sum(name.name in free for name in _names_in(templated))
        return _written(templated, free) if free else templated

    playbook = map_templated(document.playbook, each)
    at_start = {id(value) for _, value in document.playbook.workload}  # there is no `ctx` yet
    torn = {number for number, found in words.items() if seen.get(number) != len(found)}
    refused = [
        _refusal(unknown, is_torn=id(unknown.holder) in torn)
        for unknown in document.unknown
        # Nothing is guessed: where the new text could mean something else than the old, the file is refused.
        if not unknown.free or id(unknown.holder) in torn or (unknown.free in ABSENT and id(unknown.holder) in at_start)
    ]
    # One name in one place may be found by several checks.
    changes = dict.fromkeys(_change(unknown) for unknown in document.unknown)
    return WrittenOut(document._replace(playbook=playbook), tuple(changes), tuple(dict.fromkeys(refused)))


def _change(unknown: UndeclaredName) -> Change:
    construct, became = f"`{unknown.free}`, which nothing declares", f"`{SCOPE}.{unknown.free}`, a key of the payload"
    if is_secret_name(unknown.free):
        became += ", which stands in plain in the log: a secret belongs in `keychain`"
    if unknown.free in ABSENT:
        became = f"`ctx.{unknown.free}`, which nothing sets: the older word has no meaning here"
    return Change("migrate", unknown.finding.span, construct, "review", became)


def _refusal(unknown: UndeclaredName, *, is_torn: bool) -> Diagnostic:
    """The error about a name that cannot be written out: it is no bare name, or its value was put into several places,
    in one of which the name is declared (`is_torn`).
    """
    found = unknown.finding
    message = f"{found.message}, but for some of the places that this goes to" if is_torn else found.message
    return finding("NL904", message, found.span, help=found.help)


def _names_in(templated: Templated) -> Iterator[Name]:
    """Every use of a name, but for those that a block template binds."""
    exprs = [templated.expr] if isinstance(templated, Guard) else [expr for expr, _ in expressions_in(templated)]
    yield from (part for expr in exprs for part in walk(expr) if isinstance(part, Name))
    if isinstance(templated, Value):
        yield from (name for block in blocks_in(templated) for name in free_names(block.text))


def _scope_of(name: str) -> str:
    """The scope under which a free name is written out. An old word was never a key of the payload: it becomes a key of
    `ctx` that nothing sets, and so stays undefined.
    """
    return "ctx" if name in ABSENT else SCOPE


def _written(templated: Templated, free: frozenset[str]) -> Templated:
    def replace(expr: Expr) -> Expr | None:
        return path(_scope_of(expr.name), expr.name) if isinstance(expr, Name) and expr.name in free else None

    if isinstance(templated, Guard):
        return guard_with(templated, replace)
    meanings = {name: path(_scope_of(name), name) for name in free}
    made = with_blocks(template_with(templated.template, replace), lambda block: bound(block, meanings))
    return templated._replace(template=made)
