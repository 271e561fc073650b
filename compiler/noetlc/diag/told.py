"""What lowering did, as findings."""

from noetlc.diag.change import Change
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic

_CODE_OF_CLASS = {"exact": "NL910", "safe": "NL911", "review": "NL912", "refused": "NL903"}


def told(change: Change) -> Diagnostic:
    """The note that a change is, or the error that it is refused."""
    if change.klass == "refused":
        return finding("NL903", f"{change.construct} cannot be run as written: {change.message}", change.span)
    from noetlc.diag.forms import rewriting  # canonical files need none of it

    message = f"an older form, {change.construct}, is read as {change.message}"
    return finding(_CODE_OF_CLASS[change.klass], message, change.span, help=rewriting(change.construct, change.message))
