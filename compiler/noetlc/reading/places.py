"""Every expression checked at its place: who evaluates it, and which names are visible there (LANGUAGE
§2).
"""

from noetlc.ast.order import order_of
from noetlc.ast.playbook import Playbook
from noetlc.ast.workload import workload_needs
from noetlc.reading.reader import Reader


def check_expressions(r: Reader, playbook: Playbook) -> None:
    """Report names out of their place, undeclared names, and workload values that read each other in a
    circle.
    """
    _check_workload(r, playbook)


def _check_workload(r: Reader, playbook: Playbook) -> None:
    spans = dict(playbook.workload_spans)
    for circle in order_of(workload_needs(playbook))[1]:
        path = " → ".join((*circle, circle[0]))
        r.report(
            "NL308",
            f"workload values read each other in a circle: {path}",
            spans[circle[0]],
            help="let one of them be a plain value",
        )
