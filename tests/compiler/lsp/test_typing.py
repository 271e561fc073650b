"""Whole playbooks typed character by character, and edited at random: nothing crashes, and no finding outlives its
cause.
"""

from pathlib import Path
from random import Random

import pytest

from editor import Editor
from harness.editing import edited
from harness.samples import first
from noetlc.cli.files import begins_a_playbook
from noetlc.cli.inspection import found_in
from noetlc.lsp.completion import offers_at
from noetlc.lsp.hover import said_at
from noetlc.lsp.known import KnownFile
from noetlc.lsp.repair import BROKEN
from noetlc.pipeline import check_source

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
PLAYBOOKS = sorted(path.stem for path in EXAMPLES.glob("*.yaml") if "." not in path.stem)


def told(editor: Editor, name: str) -> list[tuple[str, str]]:
    return [(str(one.code), one.message.partition("\n")[0]) for one in editor.findings(name)]


def lint(text: str) -> list[tuple[str, str]]:
    if not begins_a_playbook(text.encode("utf-8", "surrogatepass")):
        return []
    found = found_in("a.yaml", text.encode("utf-8", "surrogatepass")).findings
    return [(one.diagnostic.code, one.diagnostic.message) for one in found]


def compare(shown: list[tuple[str, str]], text: str, whole: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Hold what is shown against lint; gives the findings of the last text that could be read."""
    expected = lint(text)
    if not any(code in BROKEN for code, _ in expected):
        assert shown == expected, text
        return set(expected)
    # Beside the slip only what was found before it.
    assert set(expected) <= set(shown) <= set(expected) | whole, text
    return whole


MOST_PLACES = 400
"""At how many places of a playbook, evenly spread, something is asked: each costs a reading of the text around."""


@pytest.mark.parametrize("name", first(2, PLAYBOOKS))
def test_a_playbook_typed_character_by_character(editor: Editor, name: str) -> None:
    text = (EXAMPLES / f"{name}.yaml").read_text("utf-8")
    file, whole = f"typed_{name}.yaml", set[tuple[str, str]]()
    line, every = 1, len(text) // (3 * MOST_PLACES) + 1
    for end in range(1, len(text) + 1):
        # Of a long playbook some lines are typed, and the others come at once, as when they are pasted.
        if text[end - 1] == "\n" or line % every == 0:
            editor.show(file, text[:end])
        if text[end - 1] == "\n":
            whole = compare(told(editor, file), text[:end], whole)
            line += 1
    assert compare(told(editor, file), text, whole) == set(lint(text))


@pytest.mark.parametrize("seed", first(2, range(20)))
def test_random_edits(editor: Editor, seed: int) -> None:
    random = Random(seed)
    text = (EXAMPLES / f"{random.choice(PLAYBOOKS)}.yaml").read_text("utf-8")
    file, whole = f"edited_{seed}.yaml", set[tuple[str, str]]()
    for _ in range(40):
        text = edited(random, text)
        editor.show(file, text)
        whole = compare(told(editor, file), text, whole)


@pytest.mark.parametrize("name", first(3, PLAYBOOKS))
def test_something_is_offered_or_nothing_wherever_the_cursor_is(name: str) -> None:
    text = (EXAMPLES / f"{name}.yaml").read_text("utf-8")
    known = KnownFile(check_source(name, text.encode()))
    line = column = 1
    for end, char in enumerate(text):
        if end % (len(text) // MOST_PLACES | 1) == 0:
            typed = offers_at(known, text[:end], line, column)
            inside = offers_at(known, text, line, column)
            for one in (*typed, *inside):
                assert one.label and 0 <= one.replaces < column
            said_at(known, line, column)
        line, column = (line + 1, 1) if char == "\n" else (line, column + 1)
