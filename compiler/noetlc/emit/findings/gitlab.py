"""GitLab's code quality report (https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format)."""

import json
from collections.abc import Mapping

from noetlc.diag.diagnostic import Code, Severity
from noetlc.diag.findings import FindingsReport, fingerprints

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


def emitted(report: FindingsReport, codes: Mapping[str, Code]) -> str:
    """A list of issues; a finding without a place is about the first line."""
    del codes
    rows = [
        {
            "description": one.diagnostic.message,
            "check_name": one.slug,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[one.diagnostic.severity],
            # A finding without a place has the line 0, which no file has.
            "location": {"path": one.file, "lines": {"begin": max(1, one.diagnostic.span.line)}},
        }
        for one, fingerprint in zip(report.findings, fingerprints(report), strict=True)
    ]
    return json.dumps(rows, indent=1) + "\n"
