"""Whatever tree a file holds, reading and linting it never raise, and every finding has a known code."""

from hypothesis import given, settings
from hypothesis import strategies as st

from noetlc.ast.yaml_text import yaml_text
from noetlc.diag.codes import CODES
from noetlc.older import combined
from noetlc.reading.reader import Tables
from noetlc.rules import all_rules
from playbooks import HEAD, linted

KEYS = sorted({key for scope in Tables._fields for key in getattr(combined()[0], scope)} | {"when", "then", "else"})
WORDS = [
    "{{ ctx.a }}",
    "{{ 1 +",
    "{% if x %}",
    "start",
    "end",
    "noop",
    "http",
    "python",
    "retry",
    "jump",
    "all",
    "5m",
    "",
]
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-2, 5)
    | st.floats(allow_nan=False)
    | st.sampled_from(WORDS)
    | st.text(max_size=5)
)
keys = st.sampled_from(KEYS) | st.text(max_size=4)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=25,
)
KNOWN = CODES.keys() | {rule.code for _, rule in all_rules()}


def step(content: dict[str, object]) -> dict[str, object]:
    return {"step": "start", **content}


steps = st.lists(
    st.dictionaries(st.sampled_from(["spec", "loop", "tool", "next", "desc"]), trees, max_size=4).map(step), max_size=3
)


@settings(max_examples=150, deadline=None)
@given(steps)
def test_random_steps(workflow: list[dict[str, object]]) -> None:
    assert {finding.code for finding in linted(HEAD + yaml_text({"workflow": workflow}))} <= KNOWN  # type: ignore[dict-item]


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(keys, trees, max_size=6))
def test_random_documents(document: dict[str, object]) -> None:
    assert {finding.code for finding in linted(yaml_text(document))} <= KNOWN  # type: ignore[arg-type]
