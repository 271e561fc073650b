"""The view of what lowering makes of a playbook: canonical source, then each change with its class."""

from goldens import Case
from noetlc.ast.printing import printed
from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import understood
from noetlc.source.yaml_reader import read_yaml


def canonical(case: Case) -> str:
    """The canonical source text, and as comments the changes in the order of the passes."""
    reading = read_yaml(case.path.name, case.path.read_bytes())
    made = understood(reading.source, reading.documents[0])
    errors = [found for found in made.diagnostics if found.severity >= Severity.ERROR]
    assert made.playbook is not None and not errors, errors
    told = [f"# {one.span} {one.by} {one.klass}: {one.construct} → {one.message}" for one in made.changes]
    return "\n".join([printed(made.playbook).rstrip("\n"), *told]) + "\n"
