"""Findings of several files, as the formats take them."""

from collections.abc import Mapping

from noetl_ir.records import NamedTuple
from noetlc.diag.diagnostic import Diagnostic, Severity


class Reported(NamedTuple):
    """A finding with its file, the name of its code, and its address: the names that lead to it in the document."""

    file: str
    slug: str
    address: str
    diagnostic: Diagnostic


class FindingsReport(NamedTuple):
    """All files that were looked at, in order, and what is reported of them. `thresholds` say for each file how severe
    what fails the run is at least.
    """

    files: tuple[str, ...]
    findings: tuple[Reported, ...]
    thresholds: Mapping[str, Severity]

    def fails(self, one: Reported) -> bool:
        """Whether a finding fails the run."""
        return one.diagnostic.severity >= self.thresholds.get(one.file, Severity.NOTE)


def fingerprints(report: FindingsReport) -> list[str]:
    """For each finding a text that stays when lines move: file, code, address, and which of several alike it is."""
    from hashlib import sha256

    seen: dict[tuple[str, str, str], int] = {}
    out = []
    for one in report.findings:
        key = one.file, one.diagnostic.code, one.address
        seen[key] = number = seen.get(key, -1) + 1
        out.append(sha256("\0".join((*key, str(number))).encode("utf-8", "surrogatepass")).hexdigest())
    return out
