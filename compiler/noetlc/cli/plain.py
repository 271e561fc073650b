"""`python -m noetlc.cli.plain NAME`: the YAML document on standard input as JSON on standard output.

For the runtime, which has no YAML reader of its own: it runs this in a bounded process. No command of `noetlc`.
Findings go to standard error as the compiler prints them; exit codes as everywhere: 0 no errors, 1 errors.
"""

import json
import sys

from noetl_cli.excerpts import PLAIN
from noetlc.diag.diagnostic import Severity
from noetlc.diag.text import rendered
from noetlc.source.nodes import value_of
from noetlc.source.yaml_reader import read_yaml


def main(name: str, data: bytes) -> int:
    """Print the plain value of the one document in `data`."""
    reading = read_yaml(name, data)
    for finding in reading.diagnostics:
        print(rendered(finding, reading.source, PLAIN), file=sys.stderr)
    if any(finding.severity >= Severity.ERROR for finding in reading.diagnostics):
        return 1
    # Of several nobody could say which one is meant.
    if len(reading.documents) != 1:
        print(f"{name}: expected one document, found {len(reading.documents)}", file=sys.stderr)
        return 1
    node = reading.documents[0]
    print(json.dumps(None if node is None else value_of(node)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.stdin.buffer.read()))
