"""Views of what the reader finds in a file."""

import re

from goldens import Case
from noetlc.diag.text import rendered
from noetlc.source.limits import LIMITS
from noetlc.source.yaml_reader import read_yaml

_LIMIT = re.compile(rb"^# (\w+): (\d+)$", re.MULTILINE)


def diagnostics(case: Case) -> str:
    """Every finding with its lines. A comment `# events: 20` sets a limit for its file."""
    data = case.path.read_bytes()
    limits = LIMITS._replace(**{name.decode(): int(value) for name, value in _LIMIT.findall(data)})
    reading = read_yaml(case.path.name, data, limits)
    return "\n".join(rendered(item, reading.source) for item in reading.diagnostics)
