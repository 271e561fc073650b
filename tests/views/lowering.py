"""The view of what lowering makes of a playbook: canonical source, then each change with its class."""

from goldens import Case
from noetlc.ast.printing import printed
from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import understood
from noetlc.source.yaml_reader import read_yaml


def canonical(case: Case) -> str:
    """The canonical source text, and as comments the changes in the order of the passes."""
    reading = read_yaml(case.path.name, case.path.read_bytes())
    playbook, findings, changes = understood(reading.source, reading.documents[0])
    errors = [found for found in findings if found.severity >= Severity.ERROR]
    assert playbook is not None and not errors, errors
    told = [f"# {change.span} {change.by} {change.klass}: {change.construct} → {change.message}" for change in changes]
    return "\n".join([printed(playbook).rstrip("\n"), *told]) + "\n"
