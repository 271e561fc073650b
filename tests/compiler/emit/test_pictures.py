"""noetlc.emit: pictures and schemas, for any text that a playbook may hold."""

import re
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nets import compiled, steps
from noetlc.ast.playbook import Playbook
from noetlc.emit.pictures import dot, mermaid
from noetlc.emit.pictures.steps import steps_of
from noetlc.emit.schema import playbook_schema

EXAMPLES = sorted(
    path for path in Path("examples").rglob("*.yaml") if not path.name.endswith((".script.yaml", ".test.yaml"))
)


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
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        jsonschema.validate(document, playbook_schema())


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
    jsonschema.validate({**head, "workflow": [{"step": "start"}]}, playbook_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**head, **body}, playbook_schema())
