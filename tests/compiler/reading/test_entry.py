"""Where an older file begins and where its leaves lead, by what its author can have meant."""

import pytest

from noetlc.pipeline import compile_source

HEAD = "apiVersion: noetl.io/{0}\nkind: Playbook\nmetadata: {{name: t}}\n"


def entry(version: str, *names: str) -> str | None:
    """The entry step of a file with these steps, None where it is refused for having none."""
    body = "workflow:\n" + "".join(f"- {{step: {name}, tool: {{kind: noop}}}}\n" for name in names)
    compiled = compile_source("t.yaml", (HEAD.format(version) + body).encode())
    if compiled.plans:
        executor = compiled.documents[0].playbook.executor  # type: ignore[union-attr]
        return executor.entry_step or "start"
    assert [one.code for one in compiled.diagnostics if str(one.severity) == "error"] == ["NL202"]
    return None


@pytest.mark.parametrize(
    ("version", "names", "begins"),
    [
        ("v1", ("load", "show"), "load"),
        ("v2", ("load", "status"), "load"),
        ("v2", ("load", "start"), "start"),
        ("v2", ("strat", "end"), "strat"),
        ("v2", ("load", "strat"), None),  # which of them is not said
        ("v10", ("load", "show"), None),
    ],
)
def test_an_older_file_without_a_step_start_begins_with_its_first(
    version: str, names: tuple[str, ...], begins: str | None
) -> None:
    assert entry(version, *names) == begins


STEPS = "workflow:\n- {{step: start, next: {{arcs: [{{step: b}}]}}}}\n- {{step: b{0}}}\n- {{step: end, tool: {1}}}\n"
WORK = "{kind: python, code: result = 1}"


@pytest.mark.parametrize(
    ("version", "leaf", "end", "leads"),
    [
        ("v2", "", WORK, True),
        ("v2", "", "{kind: noop}", False),  # nothing is lost where nobody comes
        ("v2", ", next: {arcs: [{step: end, when: '{{ false }}'}]}", WORK, False),  # it has an arc: this is its way
        ("v10", "", WORK, False),
    ],
)
def test_leaves_lead_to_an_end_with_work_that_nothing_names(version: str, leaf: str, end: str, leads: bool) -> None:
    compiled = compile_source("t.yaml", (HEAD.format(version) + STEPS.format(leaf, end)).encode())
    router = compiled.documents[0].playbook.steps[1].router  # type: ignore[union-attr]
    unguarded = [arc.target for arc in router.arcs if arc.when is None] if router is not None else []
    assert unguarded == (["end"] if leads else [])
