"""Canonical source: what `noetlc compile --format canonical` writes."""

from noetlc.ast.playbook import Playbook
from noetlc.ast.printing import printed


def emitted(playbooks: tuple[Playbook, ...]) -> bytes:
    """The playbooks of a file as canonical YAML, several as several documents."""
    return "---\n".join(printed(playbook) for playbook in playbooks).encode("utf-8", "backslashreplace")
