"""What a document may have that only lowering can tell: words of older dialects, block tags, a step `end`."""

from collections.abc import Iterator
from re import compile as pattern

from noetl_ir.expr import Literal, Name, walk
from noetlc.ast.graph import END
from noetlc.ast.playbook import Value
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import expressions_in
from noetlc.older.loose import LOOSE
from noetlc.older.name_nodes import OldBlocks, OldNames, OldRequest, OldSecrets
from noetlc.older.target_nodes import ImplicitEnd
from noetlc.reading.drafts import DocumentDraft
from noetlc.reading.reader import Reader
from noetlc.source.nodes import Mapping

_OLD = pattern(
    r"(?:(?<![\w.'\"])(?:vars|response|result|data|this|status_code|error|success|attempt|output|_err)"
    r"\b(?!['\"])|['\"](?:call\.done|call\.error|step\.exit|step\.finished|success)['\"])"
)
"""Words of `noetlc.older.legacy_names`, where an expression may have them."""
_SECRET = pattern(r"(?<![\w.'\"])(?:env\s*[.\[]|token\s*\()")


_REQUEST = pattern(r"(?<![\w.'\"])(?:job|payload|spec|input|data)\b(?!['\"])")


def hints_of(r: Reader, draft: DocumentDraft, node: Mapping) -> tuple[Sugar, ...]:
    """The sugar of a document that stands for what it may have."""
    return (*_old_names(r, node, draft), *_implicit_end(draft))


def _implicit_end(draft: DocumentDraft) -> tuple[ImplicitEnd, ...]:
    if len(draft.steps) < 2 or any(step.router is not None for step in draft.steps):
        return ()
    return tuple(ImplicitEnd(step.name_span) for step in draft.steps if step.name == END)


def _old_names(r: Reader, node: Mapping, draft: DocumentDraft) -> Iterator[Sugar]:
    """Whether the file has words in braces that older dialects use: one look at its text, no expression is read."""
    text = r.source.text
    inside = {part.partition("}}")[0] for part in text.split("{{")[1:]}  # most braces of a file hold the same few texts
    loose = any(change.construct.startswith(LOOSE) for change in r.changes)  # it had no braces to look behind
    if loose or any(map(_OLD.search, inside)):
        yield OldNames(node.span)
    if any(map(_REQUEST.search, inside)) or any(_reads_args(value) for _, value in draft.workload):
        yield OldRequest(node.span)
    if ("env" in text or "token" in text) and _SECRET.search(text):  # the plain words are found sooner
        yield OldSecrets(node.span)
    if "{%" in text:
        yield OldBlocks(node.span)


def _reads_args(value: Value) -> bool:
    """Whether a workload value reads `args`, which are there only in steps."""
    exprs = (expr for expr, _ in expressions_in(value)) if type(value.template) is not Literal else ()
    return any(isinstance(part, Name) and part.name == "args" for expr in exprs for part in walk(expr))
