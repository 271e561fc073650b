"""A key that is written twice is one mistake, told once: no pass sees a construct twice, and none breaks."""

from collections.abc import Iterator

import pytest

import goldens
from harness.samples import some
from noetlc.pipeline import compile_source
from noetlc.source.nodes import Mapping, Node, Sequence
from noetlc.source.yaml_reader import read_yaml

INPUTS = [case for case in goldens.cases() if case.stage in ("dialects", "migrate", "spec")]


def doubled(text: str, root: Node) -> Iterator[str]:
    """The text with one key of a block mapping of one line written twice, for each such key."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Sequence):
            waiting += node.items
        if not isinstance(node, Mapping):
            continue
        for key, value in node.entries:
            waiting.append(value)
            start, end = text.rfind("\n", 0, key.start.index) + 1, text.find("\n", key.start.index) + 1
            if end > value.end.index and not text[start : key.start.index].strip(" "):
                yield text[:end] + text[start:end] + text[end:]


@pytest.mark.parametrize("case", some(INPUTS, 4), ids=str)
def test_a_key_that_is_written_twice_is_told_and_breaks_nothing(case: goldens.Case) -> None:
    data = case.path.read_bytes()
    reading = read_yaml(case.path.name, data)
    for root in [node for node in reading.documents if node is not None][:1]:
        for text in doubled(reading.source.text, root):
            codes = [found.code for found in compile_source(case.path.name, text.encode()).diagnostics]
            assert "NL004" in codes, text
            assert "NL000" not in codes, text
