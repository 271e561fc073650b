"""The keys of `ctx` that are set, and those of them that are reduced (EXTENSIONS §4)."""

from collections.abc import Iterator

from noetlc.ast.playbook import Playbook, Value
from noetlc.ast.walk import tasks_in


def reducers_of(playbook: Playbook) -> dict[str, str]:
    """Key → its reducer."""
    return {one.key: one.reduce for one in playbook.executor.reducers}


def settings_in(playbook: Playbook) -> Iterator[tuple[str, Value]]:
    """The keys of `ctx` that rules of tasks set, each time with the value."""
    return (pair for task in tasks_in(playbook) for rule in task.rules for pair in rule.set_ctx)


def contributions_in(playbook: Playbook) -> Iterator[tuple[str, str, Value]]:
    """The contributions of rules of tasks: each key, its reducer, and the value."""
    reducers = reducers_of(playbook)
    return ((key, reducers[key], value) for key, value in settings_in(playbook) if key in reducers)


def keys_in(playbook: Playbook) -> set[str]:
    """The keys of `ctx` that may have a value: what a rule sets, and what is reduced."""
    return {key for key, _ in settings_in(playbook)} | {*reducers_of(playbook)}
