"""The view of what lint says besides the rules: about comments that ignore, and about a baseline."""

from goldens import Case
from noetlc.cli.baseline import read_baseline, unknown
from noetlc.cli.checking import text_of
from noetlc.cli.inspection import found_in
from noetlc.diag.text import PLAIN
from noetlc.source.decoding import decode
from noetlc.source.text import Source


def findings(case: Case) -> str:
    """What is reported of a file; with a baseline beside it, what that does not know, and what it knows in vain."""
    data = case.path.read_bytes()
    found = list(found_in(case.path.name, data).findings)
    told = ""
    if case.beside("baseline").exists():
        name = str(case.beside("baseline"))
        baseline = read_baseline(name)
        found, left = unknown(found, baseline.of(str(case.path)))
        told = text_of(baseline.stale(left), Source(case.beside("baseline").name, baseline.text), "full", PLAIN)
    shown = text_of(found, decode(case.path.name, data)[0], "full", PLAIN)
    return "\n".join(filter(None, [shown, told])) or "no findings\n"
