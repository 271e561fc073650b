"""A file checked, with its own comments applied: what the cache keeps, and what fixes are judged by."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from noetl_ir.span import Span
from noetlc.cli.cache import CachedFile
from noetlc.codegen.family import COMPUTED, NOT_FOUND
from noetlc.diag.findings import MIGRATED, Reported
from noetlc.diag.internal import bug_of
from noetlc.diag.selection import INTERNAL
from noetlc.pipeline import Compiled, check_source
from noetlc.rules import slug_of
from noetlc.source.addresses import Addresses
from noetlc.source.nodes import Scalar

if TYPE_CHECKING:  # most files have no such comments, and call nothing
    from noetlc.cli.catalogue import Folders
    from noetlc.diag.ignores import Ignore
    from noetlc.reading.kept_file import KeptFile


def found_in(name: str, data: bytes, catalogue: "Folders | None" = None) -> CachedFile:
    """Everything that there is to say about a file, less what its own comments take back."""
    return looked_into(name, data, catalogue)[0]


def looked_into(
    name: str,
    data: bytes,
    catalogue: "Folders | None" = None,
    *,
    migrating: bool = True,
    kept: "KeptFile | None" = None,
) -> tuple[CachedFile, Compiled | None]:
    """The findings of a file as `found_in` has them, and the file as it was understood, None where `noetlc` failed.

    Without `migrating` the notes on older forms have no fix: to migrate a file takes longer than to check it. `kept` is
    what was read of the file's last text; a migration goes by its own reading.
    """
    try:
        compiled = _in_catalogue(name, data, catalogue, None if migrating else kept)
        return _kept(name, data, compiled, catalogue, migrating=migrating), compiled
    except Exception as error:  # the other files go on
        return CachedFile((Reported(name, slug_of(INTERNAL), "", bug_of(error).diagnostic("the compiler")),), 0), None


def _kept(name: str, data: bytes, compiled: Compiled, catalogue: "Folders | None", *, migrating: bool) -> CachedFile:
    found, ignored = list(compiled.diagnostics), 0
    # A search through the text spares the walk over all nodes in nearly every file.
    if "noetl:" in compiled.source.text:
        from noetlc.diag.ignores import applied

        found, ignored = applied(found, _ignores(compiled), _code_of())
        found.sort(key=lambda one: one.order)
    # After the comments: a note that is taken back is a wish to keep the old form, and stops the migration.
    if migrating and any(one.code in MIGRATED for one in found):
        from noetlc.migrate.migration import with_migration

        found = with_migration(compiled, data, found, MIGRATED)
    addresses = Addresses([document.node for document in compiled.documents if document.node is not None])
    rows = [Reported(name, slug_of(one.code), addresses.address_of(one.span), one) for one in found]
    called = sorted({path for document in compiled.documents for path in document.called})
    return CachedFile(tuple(rows), ignored, tuple((path, catalogue.state_of(path)) for path in called if catalogue))


def _in_catalogue(name: str, data: bytes, catalogue: "Folders | None", kept: "KeptFile | None") -> Compiled:
    """The file checked with its children, where there are folders in which these can be looked up."""
    if catalogue is None:
        return _alone(check_source(name, data, kept=kept))
    compiled = check_source(name, data, catalogue, catalogue.seen, kept)
    return compiled if catalogue.is_whole else _alone(compiled)


def _alone(compiled: Compiled) -> Compiled:
    """The findings without those about children that are missing or whose path is computed."""
    # Without `--path` most children live elsewhere, and to name each would be noise.
    kept = tuple(one for one in compiled.diagnostics if one.code not in (NOT_FOUND, COMPUTED))
    return compiled._replace(diagnostics=kept)


def _code_of() -> Callable[[str], str]:
    """A function from the number or the name of a code to its number, "" for any other word."""
    from noetlc.rules import every_code

    codes = {word: code for code, entry in every_code().items() for word in (code, entry.slug)}
    return lambda word: codes.get(word.upper()) or codes.get(word.lower().replace("_", "-"), "")


def _ignores(compiled: Compiled) -> "list[Ignore]":
    """The comments of a file that take findings back."""
    from noetlc.diag.ignores import ignore_of
    from noetlc.migrate.lines import comments_in
    from noetlc.source.nodes import all_nodes

    source = compiled.source
    nodes = [node for document in compiled.documents if document.node is not None for node in all_nodes(document.node)]
    blocks = {node.span.line: node.span for node in nodes if isinstance(node, Scalar) and node.style in ("|", ">")}
    out = []
    for comment in comments_in(source.text, 0, len(source.text), nodes):
        span = source.span_of(comment.start, comment.start + len(comment.text))
        before = source.line_text(span.line)[: span.column - 1]
        alone = not before.strip()
        line = span.line
        if alone:
            line += 1
            # Several comments may stand above one line, each with a code of its own.
            while line <= source.line_count and source.line_text(line).strip()[:1] in ("", "#"):
                line += 1
            cut = Span(span.line, 1, span.line + 1, 1)
        else:
            cut = Span(span.line, len(before.rstrip()) + 1, span.line, span.end_column)
        last = max(line, blocks[line].end_line - 1) if line in blocks else line
        found = ignore_of(comment.text, span, (line, last), cut)
        if found is not None:
            out.append(found)
    return out
