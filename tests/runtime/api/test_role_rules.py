"""Rules that give roles by claims."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl.api.bearer_tokens import MAY
from noetl.api.role_rules import RoleRule, RoleRules, RulesFile, RulesProblem, read_rules
from noetl.ports.scopes import is_within

HEAD = '[[roles]]\nclaim = "groups"\nvalue = "ops"\nrole = "operator"\n'


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        (tmp_path / "roles.toml").write_text(text)
        return str(tmp_path / "roles.toml")

    return write


def test_a_file_of_rules(written: Callable[[str], str]) -> None:
    path = written(
        HEAD + 'paths = ["team-a/", "shop/order"]\npools = ["gpu"]\n'
        '[[roles]]\nclaim = ["realm_access", "roles"]\nvalue = "boss"\nrole = "admin"\n'
        '[[roles]]\nclaim = "staff"\nvalue = true\nrole = "operator"\n'
        '[[roles]]\neverybody = true\nrole = "viewer"\n'
    )
    assert read_rules(path).rules == (
        RoleRule(("groups",), "ops", "operator", ("team-a/", "shop/order"), ("gpu",)),
        RoleRule(("realm_access", "roles"), "boss", "admin"),
        RoleRule(("staff",), True, "operator"),
        RoleRule((), None, "viewer"),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "write a [[roles]]"), ("roles = 1", "write a [[roles]]"), ("roles = [1]", "write a [[roles]]"),
        ("[other]", "write a [[roles]]"), (HEAD + "[other]", "write a [[roles]]"), ("[[roles", "is no TOML"),
        (HEAD.replace("claim", "clam"), "rule 1 has a key `clam`: did you mean `claim`?"),
        (HEAD.replace("operator", "worker"), "`role` is one of viewer, operator, admin"),
        (HEAD.replace('role = "operator"', ""), "`role` is one of"),
        (HEAD.replace('claim = "groups"', ""), "`claim` is a name"), (HEAD.replace('"groups"', "[]"), "`claim` is"),
        (HEAD.replace('"groups"', '["a", 1]'), "`claim` is"), (HEAD.replace('value = "ops"', ""), "`value` is"),
        (HEAD.replace('"ops"', '""'), "`value` is"), (HEAD.replace('"ops"', '["ops"]'), "`value` is"),
        (HEAD + "everybody = true", "`everybody = true` stands instead"),
        ('[[roles]]\neverybody = false\nrole = "viewer"', "`everybody = true` stands instead"),
        (HEAD + "paths = []", "`paths` is a list"), (HEAD + 'paths = "a/"', "`paths` is a list"),
        (HEAD + 'paths = ["*"]', "`*`"), (HEAD + "pools = [1]", "`pools` is a list"), (HEAD + 'pools = [""]', "pool"),
        (HEAD + f"paths = {[f'a{n}/' for n in range(101)]}", "`paths` has 101 texts"),
        (HEAD * 201, "more than 200 rules"), ("#" * 300_000, "more than 262144 bytes"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong(written: Callable[[str], str], text: str, why: str) -> None:
    path = written(text)
    with pytest.raises(RulesProblem) as told:
        read_rules(path)
    assert str(told.value).startswith(path) and why in str(told.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RulesProblem, match="cannot be read: No such file"):
        RulesFile(str(tmp_path / "none"), print)


@pytest.mark.parametrize(
    ("claim", "value", "claims", "fits"),
    [
        ("groups", "ops", {"groups": ["dev", "ops"]}, True), ("groups", "ops", {"groups": "ops"}, True),
        ("groups", "ops", {"groups": "ops dev"}, False), ("groups", "ops", {"groups": ["OPS", "ops2"]}, False),
        ("groups", "ops", {}, False), ("groups", "ops", {"groups": {"ops": 1}}, False),
        ("a", "x", {"a": [["x"]]}, False), ("staff", True, {"staff": True}, True), ("staff", True, {"staff": 1}, False),
        ("staff", 1, {"staff": True}, False), ("staff", "true", {"staff": True}, False),
        ("https://x.example/groups", "ops", {"https://x.example/groups": ["ops"]}, True),
        ("email", "a@x", {"email": "a@x", "email_verified": True}, True),
        ("email", "a@x", {"email": "a@x", "email_verified": "true"}, True),
        ("email", "a@x", {"email": "a@x"}, False), ("email", "a@x", {"email": "a@x", "email_verified": False}, False),
        ("email", "a@x", {"email": "a@x", "email_verified": "false"}, False),
    ],
)  # fmt: skip
def test_whom_a_rule_fits(claim: str, value: Any, claims: dict[str, Any], fits: bool) -> None:
    assert RoleRule((claim,), value, "viewer").fits(claims) is fits


def test_a_claim_within_another() -> None:
    rule = RoleRule(("realm_access", "roles"), "boss", "admin")
    assert rule.fits({"realm_access": {"roles": ["boss"]}})
    for claims in ({"realm_access": ["boss"]}, {"roles": ["boss"]}, {"realm_access.roles": ["boss"]}):
        assert not rule.fits(claims)


def rules_of(*rows: tuple[str, tuple[str, ...], tuple[str, ...]]) -> RoleRules:
    """Rules about the groups `0`, `1` and so on."""
    return RoleRules(tuple(RoleRule(("groups",), str(n), *row) for n, row in enumerate(rows)), "d")


def granted(rules: RoleRules, *groups: int) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
    rule = rules.granted(rules.fitting({"groups": [*map(str, groups)]}))
    return None if rule is None else (rule.role, rule.paths, rule.pools)


def test_of_several_rules_the_strongest_role_counts_and_its_scopes_are_added() -> None:
    rules = rules_of(
        ("viewer", (), ()), ("operator", ("a/",), ()), ("operator", ("b/",), ()), ("operator", ("c/",), ("gpu",)),
        ("operator", ("a/",), ("gpu",)), ("admin", (), ()), ("operator", (), ()),
    )  # fmt: skip
    assert granted(rules) is None
    assert granted(rules, 0) == ("viewer", (), ())
    assert granted(rules, 0, 1) == ("operator", ("a/",), ())
    assert granted(rules, 1, 2) == ("operator", ("a/", "b/"), ())
    assert granted(rules, 3, 4) == ("operator", ("c/", "a/"), ("gpu",))
    assert granted(rules, 1, 3) == ("operator", ("a/",), ())  # with c/ it would be for c/ in every pool
    assert granted(rules, 1, 4) == ("operator", ("a/",), ())  # the same paths, in every pool
    assert granted(rules, 1, 6) == granted(rules, 3, 6) == ("operator", (), ())
    assert granted(rules, 0, 1, 5, 6) == ("admin", (), ())


def test_no_more_scopes_are_added_than_a_token_may_have() -> None:
    """Each is a condition of every query."""
    rules = rules_of(*[("viewer", tuple(f"team-{n}-{m}/" for m in range(60)), ()) for n in range(3)])
    found = granted(rules, 0, 1, 2)
    assert found is not None and found[1] == rules.rules[0].paths


_SCOPE = st.lists(st.sampled_from(["a/", "a/b", "b/", "c"]), max_size=2, unique=True).map(tuple)
_POOLS = st.lists(st.sampled_from(["gpu", "cpu"]), max_size=2, unique=True).map(tuple)
_ROW = st.tuples(st.sampled_from(["viewer", "operator", "admin"]), _SCOPE, _POOLS)


@given(st.lists(_ROW, min_size=1, max_size=6))
@settings(max_examples=300, deadline=None)
def test_rules_together_give_nothing_that_none_of_them_gives(rows: list[tuple[str, Any, Any]]) -> None:
    rules = rules_of(*rows)
    found = granted(rules, *range(len(rows)))
    assert found is not None
    role, paths, pools = found
    assert all(MAY[other] <= MAY[role] for other, _, _ in rows)
    for path in ("a/x", "a/b", "b/x", "c", "d"):
        for pool in ("gpu", "cpu", "other"):
            if is_within(path, paths) and (not pools or pool in pools):
                assert any(
                    row[0] == role and is_within(path, row[1]) and (not row[2] or pool in row[2]) for row in rows
                ), (path, pool)


def test_a_change_of_the_file_counts_at_once(written: Callable[[str], str]) -> None:
    said: list[str] = []
    path = written(HEAD)
    rules = RulesFile(path, said.append)
    first = rules()
    assert first is not None and first.fitting({"groups": "ops"}) == (0,)
    written(HEAD.replace("ops", "others"))
    second = rules()
    assert second is not None and second.fitting({"groups": "ops"}) == () and second.digest != first.digest
    written("[[roles")
    assert rules() is None and rules() is None and len(said) == 1 and "nobody who signs in" in said[0]
