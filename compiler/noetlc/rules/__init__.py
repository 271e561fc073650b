"""Lint rules, one module each, found by name. A module exports `RULE`; its docstring is the rule's page.

Which rule is asked is decided by a table, which `tools/gen` writes from the rules themselves: a playbook has but some
of the constructs that rules are about, and a compile asks only for errors: most modules are not imported.

A rule looks at a `Unit` and yields findings; it never changes anything and knows no other rule. What is true of the net
alone (a join that starves, a cycle without a way out) a rule of the level `net` takes from the analysis, which is asked
once for all of them; rules of the level `ast` look at the tree.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from sys import modules
from typing import TYPE_CHECKING, Literal

from noetl_ir import registry
from noetl_ir.kinds import FieldText
from noetl_ir.patterns import LatePattern
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.analysis.choices import Choices
from noetlc.analysis.proofs import Proofs
from noetlc.analysis.verdict import Story, StoryLine
from noetlc.ast.defaults import with_policies
from noetlc.ast.graph import StepGraph, graph_of, holds_one_token
from noetlc.ast.playbook import Playbook, Step
from noetlc.ast.written import Written
from noetlc.diag.codes import CODES, page
from noetlc.diag.diagnostic import Code, Diagnostic, Fix, Related, Severity
from noetlc.diag.findings import sorted_findings
from noetlc.diag.internal import Bug, bug_of
from noetlc.expr.paths import accesses
from noetlc.generated.rule_table import TABLE
from noetlc.reading.constructs import constructs_of
from noetlc.reading.kinds import ProgramField, programs_of
from noetlc.source.nodes import Scalar
from noetlc.source.nodes import Sequence as SequenceNode
from noetlc.source.text import Source

if TYPE_CHECKING:  # most playbooks are checked without
    from noetl_ir.plan import Plan
    from noetlc.analysis.feeds import Feeds
    from noetlc.analysis.starvation import Starved
    from noetlc.reading.around import Around

PACKAGE = "noetlc.rules"
_TOLD = 5
"""Lines of a story that a finding tells; `noetlc analyze` tells all."""

_HEADING = LatePattern(r"^(?:Why it matters|Example|Instead|When to ignore)\n", re.MULTILINE)


class Unit:
    """The subject of a rule: one playbook, its source, and what follows from them, worked out when a rule asks."""

    def __init__(self, source: Source, playbook: Playbook, read: Playbook | None = None) -> None:
        self.source = source
        self.lowered = playbook
        """The playbook as lowering left it; in `playbook` tasks have the policies of their kinds."""
        self.playbook = with_policies(playbook)
        self.read = self.playbook if read is None or read is playbook else with_policies(read)
        """The playbook as it was read, with the sugar that lowering takes out."""

    @cached_property
    def graph(self) -> StepGraph:
        """The steps as a graph."""
        return graph_of(self.playbook)

    @cached_property
    def dominators(self) -> dict[int, int]:
        """Step → the last one that all ways from the entry to it pass; without the entry, and what none leads to."""
        from noetlc.ast.dominators import dominators_of  # few rules ask it

        return dominators_of(self.graph.entry, dict(enumerate(self.graph.successors)))

    @cached_property
    def written(self) -> Written:
        """The part of the playbook that its author wrote; all of it where it was not read in another form."""
        return Written(self.read, self.playbook)

    @cached_property
    def constructs(self) -> frozenset[str]:
        """The constructs that it has, those that lowering made included, and `sugar` where it was written in others."""
        is_lowered = self.playbook.legacy or self.read is not self.playbook
        return constructs_of(self.playbook) | ({"sugar"} if is_lowered else frozenset())

    def may_have(self, row: "RuleRow") -> bool:
        """Whether there is anything of what a rule is about."""
        if row.about and self.constructs.isdisjoint(row.about):
            return False
        text = self.source.text
        # An escape of YAML may hide a word, and what lowering made stands nowhere in the text.
        return not row.words or any(word in text for word in (*row.words, "\\")) or "sugar" in self.constructs

    @cached_property
    def has_blocks(self) -> bool:
        """Whether there may be block templates: a search through the text spares a walk over all values."""
        return any(sign in self.source.text for sign in ("{%", "\\x", "\\u", "\\U")) or "sugar" in self.constructs

    @cached_property
    def around(self) -> "Around":
        """The names that are declared around expressions."""
        from noetlc.reading.around import Around

        return Around(self.playbook)

    @cached_property
    def programs(self) -> Mapping[FieldText, Sequence[ProgramField]]:
        """The programs by language."""
        return programs_of(self.playbook)

    @cached_property
    def proofs(self) -> Proofs:
        """The proofs about the net, for which there must be no error in the playbook."""
        return _proofs(self.playbook)

    @cached_property
    def starved(self) -> "tuple[Starved, ...]":
        """The joins that starve, of those whose author said for what they wait."""
        return tuple(one for one in self.proofs.starved if self.written.has_join(self.playbook.steps[one.step]))

    @cached_property
    def feeds(self) -> "Feeds":
        """Who decides what expressions give."""
        from noetlc.analysis.feeds import Feeds

        return Feeds(self.playbook)

    @cached_property
    def choices(self) -> Choices:
        """The choices that the guards allow."""
        return Choices(self.playbook)


class LintRule(NamedTuple):
    """`level` is what the rule needs: `ast` the tree alone, `net` a plan. `check` yields its findings in any order,
    none of them worse than `severity`. A rule that is `whole` concludes from what is nowhere in the playbook, such as
    an arc to a step; it is not asked where a part could not be read, which may be what it looks for. `about` are
    constructs (`noetlc.reading.constructs`) without any of which it has nothing to find, `words` what its findings have
    in the text of the file; none where it may always find something.
    """

    code: str
    severity: Severity
    level: Literal["ast", "net"]
    check: Callable[[Unit], Iterator[Diagnostic]]
    whole: bool = False
    about: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def finding(
        self, message: str, span: Span, *, help: str = "", related: tuple[Related, ...] = (), fix: Fix | None = None
    ) -> Diagnostic:
        """A finding of this rule."""
        return Diagnostic(self.code, self.severity, message, span, help, related, fix)

    def note(self, message: str, span: Span, *, help: str = "") -> Diagnostic:
        """A finding of this rule about what is less bad than it can be."""
        return Diagnostic(self.code, Severity.NOTE, message, span, help)

    def story(self, message: str, span: Span, *, help: str, story: Story | None, sure: bool) -> Diagnostic:
        """A finding that tells the run which leads there; a note where guards may exclude that run."""
        related = tuple(Related(line.span, line.text) for line in _shortened(story) if line.span is not None)
        run = story.run if story is not None else ()
        if sure:
            return Diagnostic(self.code, self.severity, message, span, help, related, None, run)
        message = f"{message}, unless its guards exclude that"
        # The analysis knows no data: a run that guards exclude is no fault, and a warning would be a false alarm.
        return Diagnostic(self.code, Severity.NOTE, message, span, help, related, None, run)


def check_playbook(
    source: Source, playbook: Playbook, at_least: Severity, read: Playbook | None = None, *, partial: bool = False
) -> list[Diagnostic]:
    """The findings that the rules on trees that are at least so severe find in a playbook, sorted; `read` is it
    before lowering.

    The playbook may be `partial`, with parts that could not be read; no rule raises for that.
    """
    return _found(Unit(source, playbook, read), "ast", at_least, partial)


def check_net(source: Source, playbook: Playbook, read: Playbook | None = None) -> list[Diagnostic]:
    """The findings that the rules on nets find in a playbook without errors, sorted."""
    return _found(Unit(source, playbook, read), "net", min(Severity))


class RuleRow(NamedTuple):
    """A rule without its module: fields as in `LintRule`; `slug` is its name in words."""

    slug: str
    code: str
    severity: int
    level: str
    whole: bool
    about: tuple[str, ...]
    words: tuple[str, ...]


@cache
def rows() -> tuple[RuleRow, ...]:
    """The row of every rule, sorted by slug."""
    return tuple(RuleRow(*row) for row in TABLE)


def row_of(slug: str, rule: LintRule) -> RuleRow:
    """The row of a rule."""
    return RuleRow(slug, rule.code, int(rule.severity), rule.level, rule.whole, rule.about, rule.words)


@cache
def all_rules() -> tuple[tuple[str, LintRule], ...]:
    """Every rule with its slug, sorted by slug."""
    names = registry.names(PACKAGE)
    return tuple((name.replace("_", "-"), _load(name)) for name in names)


def rules_for(unit: Unit, level: str, at_least: Severity, *, partial: bool) -> Iterator[tuple[str, LintRule]]:
    """The rules of a level that may find something as severe in a playbook, each with its slug."""
    for row in rows():
        # A compile asks for errors only: rules that cannot stop it are left to lint.
        asked = row.level == level and row.severity >= at_least and not (row.whole and partial)
        if asked and unit.may_have(row):
            yield row.slug, _load(row.slug.replace("-", "_"))


def _load(name: str) -> LintRule:
    return registry.load(PACKAGE, name, "RULE", LintRule)


def every_code() -> dict[str, Code]:
    """Code → what it means, those of rules from the docstrings of their modules; sorted."""
    found = {**CODES, **{rule.code: _entry(slug, rule) for slug, rule in all_rules()}}
    return dict(sorted(found.items()))


def and_more(places: Sequence[Span], where: str) -> str:
    """The words that follow a message about the first of some places: how many others there are."""
    others = len(places) - 1
    return f", and {others} more {where}" if others else ""


def gate_keys(step: Step) -> set[str]:
    """The keys of `ctx` that the gate of a step reads."""
    rules = step.spec.admit.rules if step.spec.admit is not None else ()
    found = [access for rule in rules if rule.when is not None for access in accesses(rule.when.expr)]
    return {str(access.keys[0]) for access in found if access.root.name == "ctx" and access.keys}


def listed_steps(names: Sequence[str]) -> str:
    """Names of steps as a sentence has them; the entry token comes from no step."""
    shown = [f"`{name}`" if name != "@entry" else "the entry" for name in names]
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def assertions(playbook: Playbook) -> Iterator[tuple[str, Span]]:
    """The queries of `x-assert`, each with its place; what is no text is the query "", which is none."""
    for key, node in playbook.extensions:
        if key == "x-assert":
            for item in node.items if isinstance(node, SequenceNode) else (node,):
                yield item.text if isinstance(item, Scalar) else "", item.span


def slug_of(code: str) -> str:
    """The name of a code, "" where there is none."""
    if code in CODES:
        return CODES[code].slug
    return next((row.slug for row in rows() if row.code == code), "")


def page_of(code_or_slug: str) -> str:
    """The page of a code, found by number (any case) or slug; "" where there is none."""
    wanted = code_or_slug.strip()
    for code, entry in every_code().items():
        if wanted.upper() == code or wanted.lower().replace("_", "-") == entry.slug:
            return page(code, entry)
    return ""


def _shortened(story: Story | None) -> Sequence[StoryLine]:
    """The choices that decide a run: the arcs, outcomes and gates that could have been others, the last of them."""
    lines = [line for line in story.lines if line.span is not None] if story is not None else []
    # What happens in every run explains nothing, and a loop says the same line each time around.
    told = [line for line in dict.fromkeys(lines) if not line.text.endswith((" starts", " ends", " succeeds"))]
    return [*told[-_TOLD:], *(story.related if story is not None else ())]


def _proofs(playbook: Playbook) -> Proofs:
    return Proofs(lambda: _built(playbook), holds_one_token(playbook))


def _built(playbook: Playbook) -> "Plan":
    from noetlc.codegen.net import build_plan  # most playbooks need no net to be checked

    return build_plan(playbook)


def _found(unit: Unit, level: str, at_least: Severity, partial: bool = False) -> list[Diagnostic]:
    """The findings that the rules of a level find in what the author wrote. One that fails is a finding itself, and
    the others go on.
    """
    found: list[Diagnostic] = []
    failed: dict[Bug, list[str]] = {}
    for slug, rule in rules_for(unit, level, at_least, partial=partial):
        try:
            found += rule.check(unit)
        # Anything at all: a rule is a part like any other, and one mistake must not hide what the others found.
        except Exception as error:
            failed.setdefault(bug_of(error), []).append(f"`{slug}`")
    # Looked up without making them: a playbook whose rules asked no proof needs no net.
    asked: Proofs | None = vars(unit).get("proofs")
    for question, bug in asked.failed.items() if asked is not None else ():
        failed.setdefault(bug, []).append(f'the analysis of "{question}"')
    # What stands at a generated part, or names one, speaks of something that the author never saw.
    if found:
        made = unit.written.made(unit.playbook)
        found = [one for one in found if one.span not in made and "`__" not in one.message]
    return list(sorted_findings([*found, *(bug.diagnostic(", ".join(parts)) for bug, parts in failed.items())]))


def _entry(slug: str, rule: LintRule) -> Code:
    """The parts of a rule's docstring: `slug: title.`, then a heading and an indented text for each part."""
    from textwrap import dedent

    text = modules[f"{PACKAGE}.{slug.replace('-', '_')}"].__doc__ or ""
    head, *parts = _HEADING.split(text.strip())
    title = " ".join(head.partition(": ")[2].split()).rstrip(".")
    return Code(slug, rule.severity, title[:1].upper() + title[1:], *[dedent(part.strip("\n")) for part in parts])
