"""noetlc.emit: pictures and schemas, for any text that a playbook may hold."""

import re
from pathlib import Path

import jsonschema
import jsonschema_rs
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nets import compiled, plan_of, steps
from noetlc.ast.playbook import Playbook
from noetlc.emit.pictures import dot, mermaid
from noetlc.emit.pictures.net import net_of
from noetlc.emit.pictures.picture import ASIDE, ArrowKind
from noetlc.emit.pictures.plan_steps import steps_of_plan
from noetlc.emit.pictures.steps import steps_of
from noetlc.emit.schema import playbook_schema
from noetlc.pipeline import compile_source
from yaml12 import Loader

EXAMPLES = sorted(
    path for path in Path("examples").rglob("*.yaml") if not path.name.endswith((".script.yaml", ".test.yaml"))
)

PLAYBOOKS = jsonschema_rs.Draft202012Validator(playbook_schema())


def playbook_with(guard: str) -> Playbook:
    body = steps("step: start, next: {arcs: [{step: end, when: '{{ ctx.x }}'}]}")
    playbook = compiled(body).documents[0].playbook
    assert playbook is not None
    (start,) = playbook.steps
    assert start.router is not None and start.router.arcs[0].when is not None
    arc = start.router.arcs[0]._replace(when=start.router.arcs[0].when._replace(text=guard))
    return playbook._replace(steps=(start._replace(router=start.router._replace(arcs=(arc,))),))


@given(st.text(st.characters(exclude_categories=()), max_size=20))
def test_no_text_breaks_out_of_a_mermaid_label(text: str) -> None:
    picture = mermaid.emitted(steps_of(playbook_with(text)))
    picture.encode("utf-8")
    assert len(picture.splitlines()) == 4 or not text.split()
    for label in re.findall(r'"([^"]*)"', picture):
        rest = re.sub(r"#\d+;|<br/>", "", label)
        assert not set(rest) & set('"#;<>|`[](){}\n')


@given(st.text(st.characters(exclude_categories=()), max_size=20))
def test_no_text_breaks_out_of_a_dot_label(text: str) -> None:
    picture = dot.emitted(steps_of(playbook_with(text)))
    picture.encode("utf-8")
    outside = re.sub(r'"(\\.|[^"\\])*"', "", picture)
    assert '"' not in outside
    assert outside.count("\n") == 6


def test_the_schema_of_playbooks_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(playbook_schema())


@pytest.mark.parametrize("path", EXAMPLES, ids=str)
def test_the_schema_takes_every_example(path: Path) -> None:
    for document in yaml.load_all(path.read_text(encoding="utf-8"), Loader=Loader):
        PLAYBOOKS.validate(document)


@pytest.mark.parametrize(
    "body",
    [
        {"workflow": [{"step": "start", "tol": {}}]},
        {"workflow": [{"step": "start", "tool": {"kind": "hhtp"}}]},
        {"workflow": [{"step": "start", "next": {"arcs": [{"stp": "a"}]}}]},
        {"workflow": [{"step": "start", "next": {"spec": {"mode": "both"}}}]},
    ],
)
def test_the_schema_refuses_what_is_not_known(body: dict[str, object]) -> None:
    head = {"apiVersion": "noetl.io/v2", "kind": "Playbook", "metadata": {"name": "t"}}
    PLAYBOOKS.validate({**head, "workflow": [{"step": "start"}]})
    with pytest.raises(jsonschema_rs.ValidationError):
        PLAYBOOKS.validate({**head, **body})


CANCELLING = steps(
    "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
    "step: a, spec: {policy: {cancels: [b]}}",
    "step: b, spec: {policy: {lock: one}}, next: {arcs: [{step: c}]}",
    "step: c, spec: {policy: {lock: one}}",
)


def test_a_net_shows_what_a_transition_empties_and_what_has_to_be_empty_before_it() -> None:
    picture = net_of(plan_of(CANCELLING))
    titles = [node.title for node in picture.nodes]
    found = {kind: set[tuple[str, str]]() for kind in ASIDE}
    for edge in picture.edges:
        if edge.kind in ASIDE:
            found[edge.kind].add((titles[edge.source], titles[edge.target]))
    # By hand: on the way to `b`, at its gate, in its run, at its router; and where a run holds its lock.
    emptied = ["in b start", "gate b", "ready b", "at b b_task", "run b b_task", "out b", "bad b", "done b", "failed b"]
    locked = {f"{role} {step}" for step in "bc" for role in ("ready", "out", "bad")}
    locked |= {f"{role} {step} {step}_task" for step in "bc" for role in ("at", "run")}
    assert found[ArrowKind.RESET] >= {("admit a", place) for place in emptied}
    assert {source for source, _ in found[ArrowKind.RESET]} == {"admit a"}
    assert {target.split()[1] for _, target in found[ArrowKind.RESET]} == {"b"}
    assert found[ArrowKind.TEST] == {(place, f"admit {step}") for place in locked for step in "bc"}


def test_too_many_arcs_without_tokens_are_counted_and_not_drawn() -> None:
    names = [f"s{number}" for number in range(16)]
    arcs = ", ".join(f"{{step: {name}}}" for name in names)
    rows = [f"step: {name}, spec: {{policy: {{lock: one}}}}" for name in names]
    picture = net_of(plan_of(steps(f"step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}", *rows)))
    assert not {edge.kind for edge in picture.edges} & ASIDE
    assert picture.captions == ("1280 arcs that empty places, or ask whether they are empty, are not drawn.",)


def test_the_steps_of_a_plan_and_of_its_playbook_show_the_same_cancels() -> None:
    playbook = compiled(CANCELLING).documents[0].playbook
    assert playbook is not None
    drawn = [
        [(edge.id, edge.source, edge.target) for edge in picture.edges if edge.kind is ArrowKind.RESET]
        for picture in (steps_of(playbook), steps_of_plan(plan_of(CANCELLING)))
    ]
    assert drawn[0] == drawn[1] == [("cancel a b", 1, 2)]


@pytest.mark.parametrize("path", sorted(Path("golden/net").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_step_of_a_plan_says_what_that_of_its_playbook_says(path: Path) -> None:
    compiled_file = compile_source(path.name, path.read_bytes())
    for plan, document in zip(compiled_file.plans, compiled_file.documents, strict=True):
        assert document.playbook is not None
        # What a line is about, and not its words: `join: first` is `join: 1` in a plan, and a rule that admits whatever
        # comes is none there.
        drawn = [
            {node.title: [line.partition(":")[0] for line in node.lines if line != "admit"] for node in picture.nodes}
            for picture in (steps_of(document.playbook), steps_of_plan(plan))
        ]
        assert drawn[0] == drawn[1]
