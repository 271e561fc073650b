"""One editor for all tests of a module: to start a server takes longer than to ask it."""

from collections.abc import Iterator

import pytest

from editor import Editor, editor_in


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """An editor with an empty folder open."""
    with editor_in(tmp_path_factory.mktemp("workspace")) as made:
        yield made
