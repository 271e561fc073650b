"""Names that args bring along many ways: what is passed on is followed in time that grows with the arcs."""

import pytest

from noetlc.pipeline import compile_source

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\nworkload: {a: 1}\nworkflow:\n"
LAST = "- {step: last, tool: {kind: python, args: {got: '{{ a }}'}, code: result = got}}\n"


def _step(name: str, *targets: str, args: str) -> str:
    arcs = ", ".join(f"{{step: {target}, args: {args}}}" for target in targets)
    return f"- {{step: {name}, tool: {{kind: noop}}, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}}}\n"


def _chain(length: int, args: str) -> str:
    """Steps that each pass args on, written from the last one."""
    steps = [_step(f"s{at}", f"s{at + 1}" if at + 1 < length else "last", args=args) for at in range(length)]
    return _step("start", "s0", args=args) + "".join(reversed(steps)) + LAST


def _diamonds(count: int, args: str) -> str:
    """Forks behind each other: two ways through each, all of which lead to the last step."""
    text = _step("start", "f0", args=args)
    for at in range(count):
        end = f"f{at + 1}" if at + 1 < count else "last"
        text += _step(f"f{at}", f"x{at}", f"y{at}", args=args)
        text += _step(f"x{at}", end, args=args) + _step(f"y{at}", end, args=args)
    return text + LAST


@pytest.mark.parametrize("args", ['"{{ args }}"', '{a: "{{ a }}"}'])
@pytest.mark.parametrize("text", [_chain, _diamonds])
def test_args_that_are_passed_on_are_followed_without_recursion(text: object, args: str) -> None:
    """A thousand steps would be too deep for a recursion, and forty forks too many ways for a walk of each."""
    assert callable(text)
    found = compile_source("t.yaml", (HEAD + text(1_500 if text is _chain else 40, args)).encode())
    assert [one.code.number for one in found.diagnostics if one.severity == "error"] == []
