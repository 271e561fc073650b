"""Lint rules, one module each, found by name. A module exports `RULE`; its docstring is the rule's page.

A rule looks at a `Unit` and yields findings; it never changes anything and knows no other rule.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from sys import modules
from typing import NamedTuple

from noetl_ir import registry
from noetl_ir.kinds import Text
from noetl_ir.span import Span
from noetlc.ast.graph import StepGraph, graph_of
from noetlc.ast.playbook import Playbook
from noetlc.diag.code import Code
from noetlc.diag.codes import CODES, page
from noetlc.diag.diagnostic import Diagnostic, Fix, Related, Severity
from noetlc.diag.findings import sorted_findings
from noetlc.reading.kinds import Program, programs_of
from noetlc.source.text import Source

PACKAGE = "noetlc.rules"
_HEADING = re.compile(r"^(?:Why it matters|Example|Instead)\n", re.MULTILINE)


class Unit(NamedTuple):
    """What a rule looks at: one playbook, its source, its steps as a graph, and its programs by language."""

    source: Source
    playbook: Playbook
    graph: StepGraph
    programs: Mapping[Text, Sequence[Program]]


class Rule(NamedTuple):
    """`level` is what the rule needs: `ast` the tree alone. `check` yields its findings in any order."""

    code: str
    severity: Severity
    level: str
    check: Callable[[Unit], Iterator[Diagnostic]]

    def finding(
        self, message: str, span: Span, *, help: str = "", related: tuple[Related, ...] = (), fix: Fix | None = None
    ) -> Diagnostic:
        """A finding of this rule."""
        return Diagnostic(self.code, self.severity, message, span, help, related, fix)


def check_playbook(source: Source, playbook: Playbook) -> list[Diagnostic]:
    """What all rules find in a playbook, sorted. The playbook may be partial; no rule raises for that."""
    unit = Unit(source, playbook, graph_of(playbook), programs_of(playbook))
    return list(sorted_findings(found for _, rule in all_rules() for found in rule.check(unit)))


@cache
def all_rules() -> tuple[tuple[str, Rule], ...]:
    """Every rule with its slug, sorted by slug."""
    names = registry.names(PACKAGE)
    return tuple((name.replace("_", "-"), registry.load(PACKAGE, name, "RULE", Rule)) for name in names)


def every_code() -> dict[str, Code]:
    """Code → what it means, those of rules from the docstrings of their modules; sorted."""
    found = {**CODES, **{rule.code: _entry(slug, rule) for slug, rule in all_rules()}}
    return dict(sorted(found.items()))


def slug_of(code: str) -> str:
    """The name of a code, "" where there is none."""
    if code in CODES:
        return CODES[code].slug
    return next((slug for slug, rule in all_rules() if rule.code == code), "")


def page_of(code_or_slug: str) -> str:
    """The page of a code, found by number (any case) or slug; "" where there is none."""
    wanted = code_or_slug.strip()
    for code, entry in every_code().items():
        if wanted.upper() == code or wanted.lower().replace("_", "-") == entry.slug:
            return page(code, entry)
    return ""


def _entry(slug: str, rule: Rule) -> Code:
    """What a rule's docstring says: `slug: title.`, then a heading and an indented text for each part."""
    from textwrap import dedent

    text = modules[f"{PACKAGE}.{slug.replace('-', '_')}"].__doc__ or ""
    head, *parts = _HEADING.split(text.strip())
    title = " ".join(head.partition(": ")[2].split()).rstrip(".")
    return Code(slug, rule.severity, title[:1].upper() + title[1:], *[dedent(part.strip("\n")) for part in parts])
