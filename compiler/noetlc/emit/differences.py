"""The changes from one plan to another, as text, JSON or Markdown."""

import json
from collections.abc import Sequence

from noetl_cli.excerpts import printable
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetlc.analysis.differences import Difference
from noetlc.analysis.facts import Class
from noetlc.emit.findings.markdown import marked

_VERDICT = {
    True: "a run in flight can go on with the new plan",
    False: "a run in flight may not be able to go on with the new plan",
}


class Pair(NamedTuple):
    """Two files, or documents of files, and what changed between them."""

    old: str
    new: str
    changes: tuple[Difference, ...]

    @property
    def acts(self) -> bool:
        """Whether behaviour is another."""
        return any(each.klass is not Class.COSMETIC for each in self.changes)

    @property
    def resumable(self) -> bool:
        """Whether a run in flight can go on."""
        return all(each.klass is not Class.RESUME for each in self.changes)

    def place(self, change: Difference) -> str:
        """The place of a change in the file that it is about."""
        # What is gone has its place in the old file only; all else is shown where a reviewer finds it now.
        file = printable(self.old if change.sign == "-" else self.new)
        return f"{file}:{change.span}" if change.span.line else file


def text_of(pairs: Sequence[Pair]) -> str:
    """A line for each change, and whether a run in flight can go on; "" where nothing that acts is another."""
    out = []
    for pair in pairs:
        if pair.acts:
            out += [f"{pair.place(each)}: {each.klass} {each.sign} {printable(each.message)}" for each in pair.changes]
            out.append(_VERDICT[pair.resumable])
    return "".join(f"{line}\n" for line in out)


def json_of(pairs: Sequence[Pair]) -> str:
    """A list of `{old new same resumable changes}`, also of pairs that behave the same."""
    rows: list[Json] = [
        {
            "old": pair.old,
            "new": pair.new,
            # A change that is only cosmetic is listed all the same: who reads JSON decides what to leave out.
            "same": not pair.acts,
            "resumable": pair.resumable,
            "changes": [_change(each) for each in pair.changes],
        }
        for pair in pairs
    ]
    return json.dumps(rows, indent=1) + "\n"


def markdown_of(pairs: Sequence[Pair]) -> str:
    """A list for each pair that behaves differently; "" where none does."""
    out = []
    for pair in pairs:
        if pair.acts:
            out += [f"**{marked(pair.new)}** does something else: {_VERDICT[pair.resumable]}.", ""]
            out += [f"- {each.klass} {each.sign} {marked(each.message)}" for each in pair.changes]
            out.append("")
    return "".join(f"{line}\n" for line in out)


def _change(change: Difference) -> Json:
    span = change.span
    return {
        "class": change.klass.value,
        "sign": change.sign,
        "message": change.message,
        "span": {"line": span.line, "column": span.column} if span.line else None,
    }
