"""A list of findings as JSON: everything they know."""

import json
from collections.abc import Mapping

from noetlc.diag.code import Code
from noetlc.diag.json import diagnostic_json
from noetlc.diag.report import FindingsReport


def emitted(report: FindingsReport, codes: Mapping[str, Code]) -> str:
    """A list of `{file code slug severity message span help related fix address}`."""
    del codes
    rows = [{**diagnostic_json(one.diagnostic, one.file, one.slug), "address": one.address} for one in report.findings]
    return json.dumps(rows, indent=1) + "\n"
