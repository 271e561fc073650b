"""What is right in form and has no net all the same."""

from collections.abc import Iterator

from noetlc.ast.playbook import Playbook
from noetlc.codegen.forks import Illegal, taken_joins
from noetlc.diag.codes_net import NET_CODES
from noetlc.diag.diagnostic import Diagnostic

MAX_ADMISSION_RULES = 64


def refusals_of(playbook: Playbook) -> Iterator[Diagnostic]:
    """Errors that stop the build, in any order."""
    for name, fork in taken_joins(playbook).items():
        if isinstance(fork, Illegal):
            step = next(step for step in playbook.steps if step.name == name)
            yield Diagnostic(
                "NL650",
                NET_CODES["NL650"].severity,
                f"`{name}` cannot wait for the branches that were taken: {fork.reason}",
                step.spec.join_span or step.name_span,
                help="write `join: all` to wait for every source, or let one inclusive router fork into "
                "branches that each end in one source of the join",
            )
    for step in playbook.steps:
        admit = step.spec.admit
        if admit is not None and len(admit.rules) > MAX_ADMISSION_RULES:
            yield Diagnostic(
                "NL651",
                NET_CODES["NL651"].severity,
                f"`{step.name}` has {len(admit.rules)} admission rules, and {MAX_ADMISSION_RULES} are the most",
                admit.span,
                help="put the conditions of one verdict into one rule",
            )
