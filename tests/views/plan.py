"""Views of what the build makes of a playbook, and of its pictures."""

from unittest.mock import patch

from goldens import Case
from noetl_ir.plan import Plan
from noetl_ir.printing import printed_net, printed_plan
from noetlc.ast.playbook import Playbook
from noetlc.cli.catalogue import Folders
from noetlc.codegen import family
from noetlc.diag.diagnostic import Severity
from noetlc.diag.text import rendered
from noetlc.emit.pictures import dot as dot_form
from noetlc.emit.pictures import mermaid as mermaid_form
from noetlc.emit.pictures.steps import steps_of
from noetlc.pipeline import Compiled, compile_source


def net(case: Case) -> str:
    """The net."""
    return printed_net(_plan(case))


def tables(case: Case) -> str:
    """The tables and the template pool."""
    return printed_plan(_plan(case))


def mermaid(case: Case) -> str:
    """The step graph as a Mermaid flowchart."""
    return mermaid_form.emitted(steps_of(_playbook(case)))


def dot(case: Case) -> str:
    """The step graph in Graphviz's language."""
    return dot_form.emitted(steps_of(_playbook(case)))


def findings(case: Case) -> str:
    """Everything that is found on the way to the plan, the catalogue being the case's folder."""
    small = 1 if case.name == "child-too-large" else family.MAX_EMBEDDED
    with patch.object(family, "MAX_EMBEDDED", small):
        compiled = compile_source(case.path.name, case.path.read_bytes(), Folders([str(case.path.parent)]))
    found = "\n".join(rendered(each, compiled.source) for each in compiled.diagnostics)
    return found or "no findings\n"


def _compiled(case: Case) -> Compiled:
    compiled = compile_source(case.path.name, case.path.read_bytes())
    assert not compiled.count_of(Severity.ERROR), compiled.diagnostics
    return compiled


def _plan(case: Case) -> Plan:
    return _compiled(case).plans[0]


def _playbook(case: Case) -> Playbook:
    playbook = _compiled(case).documents[0].playbook
    assert playbook is not None
    return playbook
