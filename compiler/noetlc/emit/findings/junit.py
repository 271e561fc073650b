"""JUnit's XML, as the test reports of CI servers read it: a suite for each file, a case for each finding.

A finding that does not fail the run is a case that passes, and is told as its output.
"""

import re
from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

from noetlc.diag.diagnostic import Code
from noetlc.diag.findings import FindingsReport, Reported

_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0 §2.2


def emitted(report: FindingsReport, codes: Mapping[str, Code]) -> str:
    """A document; a file without findings has one case, which passes."""
    del codes
    # Files come first by their names, those without findings too: a server that counts cases would else see a clean
    # run as one without tests.
    found: dict[str, list[Reported]] = {name: [] for name in report.files}
    for one in report.findings:
        found.setdefault(one.file, []).append(one)
    tests = sum(max(1, len(ones)) for ones in found.values())
    out = ['<?xml version="1.0" encoding="UTF-8"?>']
    failures = sum(map(report.fails, report.findings))
    out.append(f'<testsuites name="noetlc lint" tests="{tests}" failures="{failures}">')
    for name, ones in found.items():
        failures = sum(map(report.fails, ones))
        out.append(f'  <testsuite name={_quoted(name)} tests="{max(1, len(ones))}" failures="{failures}">')
        out += [line for one in ones for line in _case(one, report)] or [
            f'    <testcase name="lint" classname={_quoted(name)}/>'
        ]
        out.append("  </testsuite>")
    return "\n".join([*out, "</testsuites>", ""])


def _case(one: Reported, report: FindingsReport) -> list[str]:
    diagnostic = one.diagnostic
    # Two findings of one code in one file need different names, or a server may take them for one case.
    title = f"{diagnostic.code} {one.slug} at {diagnostic.span.line}:{diagnostic.span.column}"
    place = f"{one.file}:{diagnostic.span.line}:{diagnostic.span.column}"
    text = "\n".join(part for part in (f"{place}: {diagnostic.message}", diagnostic.help) if part)
    severity, told = str(diagnostic.severity), escape(_writable(text))
    failure = f"<failure type={_quoted(severity)} message={_quoted(diagnostic.message)}>{told}</failure>"
    return [
        f"    <testcase name={_quoted(title)} classname={_quoted(one.file)} file={_quoted(one.file)}"
        f' line="{diagnostic.span.line}">',
        f"      {failure if report.fails(one) else f'<system-out>{severity}: {told}</system-out>'}",
        "    </testcase>",
    ]


def _quoted(text: str) -> str:
    return quoteattr(_writable(text))


def _writable(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", text)
