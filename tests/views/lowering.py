"""The view of what lowering makes of a playbook: canonical source, then each change with its class.

An input that is another spelling of what another one says has a companion, `<case>.same`, with the name of that one:
its view has the changes alone, and a run would be the same.
"""

from goldens import Case
from noetlc.ast.printing import printed
from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import understood
from noetlc.source.yaml_reader import read_yaml


def canonical(case: Case) -> str:
    """The canonical source text, and as comments the changes in the order of the passes."""
    text, told = _made(case)
    same = case.beside("same")
    if same.exists():
        other = same.read_text(encoding="utf-8").strip()
        assert text == _made(case._replace(name=other, path=case.path.with_name(f"{other}.yaml")))[0]
        text = f"# the canonical form of `{other}`"
    return "\n".join([text, *told]) + "\n"


def _made(case: Case) -> tuple[str, list[str]]:
    reading = read_yaml(case.path.name, case.path.read_bytes())
    made = understood(reading.source, reading.documents[0])
    errors = [found for found in made.diagnostics if found.severity >= Severity.ERROR]
    assert made.playbook is not None and not errors, errors
    told = [f"# {one.span} {one.by} {one.klass}: {one.construct} → {one.message}" for one in made.changes]
    return printed(made.playbook).rstrip("\n"), told
