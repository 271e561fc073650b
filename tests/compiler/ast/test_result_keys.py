"""Which keys the result of a python program can have, where its text tells them all."""

import pytest

from noetlc.ast.result_keys import python_result_keys


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("result = {'a': 1, 'b': 2}", {"a", "b"}),
        ("if x:\n    result = {'a': 1}\nelse:\n    result = {'b': 2}", {"a", "b"}),
        ("def main(x):\n    return {'a': x}", {"a"}),
        ("async def main():\n    if x:\n        return {'a': 1}\n    return {'b': 1}", {"a", "b"}),
        ("def main(x):\n    if x:\n        return {'a': 1}\n    else:\n        raise ValueError", {"a"}),
        ("def part():\n    return 3\ndef main():\n    return {'a': part()}", {"a"}),
        ("return {'a': 1}", {"a"}),
        # What changes the mapping later, or is made elsewhere, may have any key.
        ("result = {'a': 1}\nresult['b'] = 2", None),
        ("result = {'a': 1}\nresult.update(more)", None),
        ("result = {'a': 1}\nadd(result)", None),
        ("result = {'a': 1, **more}", None),
        ("result = {key: 1}", None),
        ("result = dict(a=1)", None),
        ("def main():\n    found = {'a': 1}\n    return found", None),
        # A way to the end without a mapping gives null.
        ("def main(x):\n    if x:\n        return {'a': 1}", None),
        ("def main(x):\n    for y in x:\n        return {'a': y}", None),
        ("def main():\n    def inner():\n        return {'a': 1}\n    return inner()", None),
        # Both may be what counts.
        ("result = {'b': 1}\ndef main():\n    return {'a': 1}", None),
        ("print(1)", None),
        ("result = = 1", None),
    ],
)
def test_keys_are_known_where_every_way_writes_them_out(text: str, keys: set[str] | None) -> None:
    assert python_result_keys(text) == (None if keys is None else frozenset(keys))
