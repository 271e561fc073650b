"""A loop over steps that cannot be one pipeline is refused, and the message says which part of it is in the way."""

import pytest

from noetlc.pipeline import check_source

HEAD = "apiVersion: noetl.io/v1\nkind: Playbook\nmetadata: {name: t, path: t/t}\nworkflow:\n"
LOOP = "- {step: start, loop: {in: [1], iterator: n}, next: a}\n"
END = "- {step: done, end_loop: start}\n"

REFUSED = {
    "no such loop": ("- {step: start, next: a}\n- {step: a, next: done}\n" + END, "no step `start` has a loop"),
    "no way": (LOOP + "- {step: a, next: end}\n" + END, "`start` to `end`, past `done`"),
    "past it": (LOOP + "- {step: a, next: [done, b]}\n- {step: b, next: end}\n" + END, "`start` to `end`, past `done`"),
    "back": (LOOP + "- {step: a, next: start}\n" + END, "leads back to `start`"),
    "never": (LOOP + "- {step: a, next: b}\n- {step: b}\n" + END, "no way leads from `start` to `done`"),
    "from outside": (
        "- {step: start, next: l}\n- {step: l, loop: {in: [1], iterator: n}, next: a}\n- {step: a, next: done}\n"
        "- {step: done, end_loop: l, next: b}\n- {step: b, next: a}\n",
        "`b` leads to `a` from outside of the loop",
    ),
    "entry inside": (
        "- {step: l, loop: {in: [1], iterator: n}, next: start}\n- {step: start, next: done}\n"
        "- {step: done, end_loop: l}\n",
        "the workflow begins at `start`",
    ),
    "another loop": (
        LOOP + "- {step: a, loop: {in: [1], iterator: m}, next: done}\n" + END,
        "`a` has a loop of its own",
    ),
    "spec": (
        LOOP + "- {step: a, spec: {policy: {lifecycle: {timeout_s: 3}}}, next: done}\n" + END,
        "`a` has a `spec`",
    ),
    "reads a result": (
        LOOP
        + "- {step: a, tool: python, code: result = 1, next: done}\n"
        + '- {step: done, end_loop: start, result: "{{ a }}"}\n',
        "`done` reads `a`, which has a result for each item: read `start.results`",
    ),
    "event": (
        LOOP + "- {step: a, next: {arcs: [{step: done, when: \"{{ event.name == 'step.failed' }}\"}]}}\n" + END,
        "an arc of `a` asks for its event",
    ),
    "args for the end": (
        LOOP + "- {step: a, next: {step: done, args: {k: 1}}}\n" + END,
        "`a` gives `k` to `done` for each item (line 6)",
    ),
    "fork with conditions": (
        LOOP + "- {step: a, next: {spec: {mode: inclusive}, arcs: [{step: b, when: '{{ n }}'}, {step: done}]}}\n"
        "- {step: b, next: done}\n" + END,
        "the branches of the fork of `a`",
    ),
    "fork that does not meet": (
        LOOP + "- {step: a, next: [b, c]}\n- {step: b, next: d}\n- {step: c, next: {step: d, when: '{{ n }}'}}\n"
        "- {step: d, next: done}\n" + END,
        "the branches of the fork of `a`",
    ),
    "two tasks of a name": (
        LOOP + "- {step: a, tool: [{name: x, kind: noop}], next: b}\n"
        "- {step: b, tool: [{name: x, kind: noop}], next: done}\n" + END,
        "two steps of the body have a task `x`",
    ),
    "code reads the token": (
        LOOP + "- {step: a, next: [{when: '{{ n }}', then: {step: b, args: {k: 1}}}, {else: {step: b}}]}\n"
        "- {step: b, tool: python, code: \"result = args['k']\", next: done}\n" + END,
        "the code of `b` reads the args of its token",
    ),
    "code reads a key of the token": (
        LOOP + "- {step: a, next: [{when: '{{ n }}', then: {step: b, args: {k: 1}}}, {else: {step: b}}]}\n"
        '- {step: b, tool: python, code: "def main(k): return k", next: done}\n' + END,
        "the code of `b` reads the args of its token",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_region_with_more_than_one_way_in_or_out_is_refused(name: str) -> None:
    steps, why = REFUSED[name]
    found = [one for one in check_source("t.yaml", (HEAD + steps).encode()).diagnostics if one.code == "NL903"]
    assert [why in one.message for one in found] == [True], found
    assert found[0].message.startswith("`end_loop` cannot be run as written: ")


def test_two_ends_of_one_loop_are_refused() -> None:
    steps = LOOP + "- {step: a, next: [done, b]}\n- {step: b, end_loop: start, next: done}\n" + END
    codes = [one.code for one in check_source("t.yaml", (HEAD + steps).encode()).diagnostics]
    assert "NL903" in codes


def test_a_loop_over_steps_inside_of_one_is_told_once_at_its_own_end() -> None:
    """Nothing else is said of either loop: what keeps them apart from each other is the one thing to mend."""
    steps = (
        LOOP
        + "- {step: a, next: within}\n- {step: within, loop: {in: [2], iterator: m}, next: b}\n"
        + "- {step: b, next: {step: last, args: {output: '{{ output }}'}}}\n"
        "- {step: last, end_loop: within, next: done}\n" + END
    )
    found = [one for one in check_source("t.yaml", (HEAD + steps).encode()).diagnostics if one.code == "NL903"]
    assert [(one.span.line, "put `within` to `last` into a playbook" in one.message) for one in found] == [(9, True)]
