"""Views of what reading and linting find in a playbook, and of its canonical form."""

from goldens import Case
from noetlc.ast.printing import printed
from noetlc.diag.findings import sorted_findings
from noetlc.diag.text import rendered
from noetlc.pipeline import check_source, understood
from noetlc.source.yaml_reader import read_yaml


def of_reading(case: Case) -> str:
    """Every finding of the reader and of the checks, with its lines."""
    reading = read_yaml(case.path.name, case.path.read_bytes())
    found = list(reading.diagnostics)
    for node in reading.documents:
        found += understood(reading.source, node).diagnostics
    return "\n".join(rendered(item, reading.source) for item in sorted_findings(found)) or "no findings\n"


def of_rules(case: Case) -> str:
    """The findings of the rules, behind those that came before them."""
    compiled = check_source(case.path.name, case.path.read_bytes())
    return "\n".join(rendered(item, compiled.source) for item in compiled.diagnostics) or "no findings\n"


def canonical(case: Case) -> str:
    """The canonical source text."""
    reading = read_yaml(case.path.name, case.path.read_bytes())
    made = understood(reading.source, reading.documents[0])
    assert made.playbook is not None, made.diagnostics
    return printed(made.playbook)
