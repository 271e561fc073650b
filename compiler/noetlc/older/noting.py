"""Changes of guards and values that are told where they change something."""

from collections.abc import Callable

from noetlc.diag.change import Change, Class, Note
from noetlc.expr.rewrite import Replace
from noetlc.expr.templates import Held, held_with


def noting(replace: Replace, note: Note, by: str, construct: str, klass: Class, became: str) -> Callable[[Held], Held]:
    """Rewrites a guard or value, and tells of a change at the place of each that is another one then."""

    def change(held: Held) -> Held:
        made = held_with(held, replace)
        if made is not held:
            note(Change(by, held.span, construct, klass, became))
        return made

    return change
