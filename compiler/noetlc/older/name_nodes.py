"""Sugar of names: the playbook has words that older dialects use for something else."""

from noetl_ir.span import Span
from noetlc.ast.sugar import Sugar


class OldNames(Sugar):
    """Some expression of the file may use names of older dialects."""

    span: Span


class OldSecrets(Sugar):
    """Some expression of the file may ask for `env` or `token()`."""

    span: Span


class OldRequest(Sugar):
    """Some expression of the file may ask for the request or its run by older names."""

    span: Span


class OldBlocks(Sugar):
    """Some text of the file may have block tags."""

    span: Span


class AskedLists(Sugar):
    """Some python code of the file may ask whether a value is a list."""

    span: Span
