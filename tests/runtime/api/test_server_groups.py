"""The file of groups, and which group a playbook draws."""

from collections import Counter

import pytest

from noetl.api.gateway.groups import BadGroups, GroupMap, ServerGroup, groups_in

TWO = '[groups.a]\nservers = ["https://a:1", "https://a:2/"]\n[groups.b]\nservers = ["http://b:1"]\n'


def groups(**shares: float) -> GroupMap:
    return GroupMap([ServerGroup(name, (f"http://{name}:1",), share=share) for name, share in shares.items()])


KEYS = [f"team{n}" for n in range(4_000)]


def test_a_file_says_groups_in_order() -> None:
    found = groups_in(TWO + 'share = 0.5\nplaybooks = ["orders/*"]\n[spread]\nstarts = ["t/*"]\n')
    assert [*found.groups.values()] == [
        ServerGroup("a", ("https://a:1", "https://a:2")),
        ServerGroup("b", ("http://b:1",), ("orders/*",), 0.5),
    ]
    assert found.group_of("orders/x/y").name == "b"
    assert (found.is_spread("t/x"), found.is_spread("u/x"), found.is_spread("orders/x")) == (True, False, False)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it has no groups: write `[groups.a]`"),
        ("a = ", "it is no TOML: "),
        ("[group.a]\n", "the file has no `group`; did you mean `groups`?"),
        ("[groups]\na = 1\n", "`groups.a` is a table"),
        ("[groups.a]\n", "`[groups.a]` has no servers"),
        ("[groups.A]\nservers = ['http://a']\n", "`A` is no name of a group"),
        ("[groups.a]\nserver = ['http://a']\n", "`[groups.a]` has no `server`; did you mean `servers`?"),
        ("[groups.a]\nservers = 'http://a'\n", "`groups.a.servers` is a list of texts"),
        ("[groups.a]\nservers = ['a:1']\n", "`a:1` is no address of a server"),
        ("[groups.a]\nservers = ['http://a:99999']\n", "`http://a:99999` is no address of a server"),
        ("[groups.a]\nservers = ['http://joe:pw@a:1']\n", "`http://a:1` is no address of a server"),
        ("[groups.a]\nservers = ['http://a:1?']\n", "`http://a:1?` is no address of a server"),
        ('[groups.a]\nservers = ["http://a\\n.b"]\n', "`http://a\n.b` is no address of a server"),
        ("[groups.a]\nservers = ['http://a\\@b']\n", "`http://b` is no address of a server"),
        (
            f"[groups.a]\nservers = {[f'http://a:{n}' for n in range(1, 102)]}\n",
            "`[groups.a]` has 101 servers; 100 are",
        ),
        (TWO.replace("http://b:1", "https://A:2"), "`https://a:2` is in `groups.a` and in `groups.b`"),
        ("[groups.a]\nservers = ['http://a:80']\n[groups.b]\nservers = ['HTTP://a/']\n", "`http://a` is in `groups.a`"),
        ("[groups.a]\nservers = ['http://a:1?x=1']\n", "`http://a:1?x=1` is no address of a server"),
        ("[groups.a]\nservers = ['http://a']\nshare = true\n", "`groups.a.share` is a number from 0 to 1000"),
        ("[groups.a]\nservers = ['http://a']\nshare = nan\n", "`groups.a.share` is a number from 0 to 1000"),
        ("[groups.a]\nservers = ['http://a']\nshare = 0\n", "no group has a share"),
        (TWO.replace("http://b:1", "https://a:2"), "`https://a:2` is in `groups.a` and in `groups.b`"),
        (TWO + "[spread]\nstart = []\n", "`[spread]` has no `start`; did you mean `starts`?"),
        ("spread = 1\n" + TWO, "`spread` is a table"),
    ],
)
def test_what_is_wrong_in_a_file_is_told(text: str, told: str) -> None:
    with pytest.raises(BadGroups) as caught:
        groups_in(text)
    assert str(caught.value).startswith(told) and "pw" not in str(caught.value)


def test_a_group_that_comes_takes_its_share_and_moves_nothing_else() -> None:
    before, after = groups(a=1, b=1, c=1), groups(a=1, b=1, c=1, d=1)
    moved = {key: after.drawn(key).name for key in KEYS if after.drawn(key) != before.drawn(key)}
    assert set(moved.values()) == {"d"}
    # A quarter of 4,000: 1,000, within five standard deviations of the binomial distribution (27).
    assert abs(len(moved) - 1_000) < 140


def test_shares_are_kept() -> None:
    # 3 : 1 of 4,000 are 3,000 and 1,000; a share of 0 has none.
    drawn = Counter(groups(a=3, b=1, c=0).drawn(key).name for key in KEYS)
    assert set(drawn) == {"a", "b"} and abs(drawn["a"] - 3_000) < 140
    without = groups(a=3, b=1, c=0)
    assert {without.drawn(key, ["b", "c"]).name for key in KEYS[:50]} == {"b"}


def test_paths_with_one_first_part_have_one_group() -> None:
    found = groups(a=1, b=1, c=1)
    assert len({found.group_of(f"orders/{n}/x").name for n in range(50)}) == 1
    assert {found.group_of(f"{key}/x").name for key in KEYS[:100]} == {"a", "b", "c"}


def test_the_groups_of_a_pattern_are_all_that_may_fit() -> None:
    drawn = groups(a=1, b=1).group_of("orders/x").name
    other = {"a": "b", "b": "a"}[drawn]

    def named(*patterns: str) -> GroupMap:
        return GroupMap([ServerGroup(drawn, ("http://x:1",)), ServerGroup(other, ("http://y:1",), patterns)])

    assert named().groups_of("orders/*") == {drawn}
    assert named("orders/*").groups_of("orders/*") == {other}
    assert named("orders/*").groups_of("orders/a*") == {other}
    assert named("orders/a*").groups_of("orders/*") == {"a", "b"}
    assert named("orders/a*").groups_of("orders/b") == {drawn}
    assert named("orders/a*").groups_of("orders/ab") == {other}
