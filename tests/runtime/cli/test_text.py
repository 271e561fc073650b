"""Text for terminals, and what progress writes: no processes here."""

import io
from typing import cast

import click
import pytest

from noetl.cli.inputs import payload_of, with_sets
from noetl.cli.live import Area
from noetl.cli.progress import LINES_A_SECOND, PlainProgress
from noetl.cli.sentences import Sentence
from noetl.cli.text import amount, cut, duration, escaped, json_text, moment, moment_in, table


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢", "plain é 漢"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x9b\u202e\u2028", "\\x9b\\u202e\\u2028"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_nothing_that_a_terminal_obeys_is_left(text: str, shown: str) -> None:
    assert escaped(text) == shown
    assert shown.isprintable()


@pytest.mark.parametrize("text", ["\x1b", "\x7f\x9b", "\u202e", "\ud800", "\U000e0001", 'é"\\\n'])
def test_json_is_printable_and_means_the_same(text: str) -> None:
    import json

    for indent in (None, 2):
        shown = json_text([text, {text: 1}], indent)
        assert all(line.isprintable() for line in shown.split("\n"))
        assert json.loads(shown) == [text, {text: 1}]


@pytest.mark.parametrize(
    ("micros", "shown"),
    [(0, "0.0 s"), (-5, "0.0 s"), (3_450_000, "3.5 s"), (65_000_000, "1 m 05 s"), (7_625_000_000, "2 h 07 m")],
)
def test_durations(micros: int, shown: str) -> None:
    assert duration(micros) == shown


def test_amounts_and_tables() -> None:
    assert [amount(1, "retry"), amount(2, "retry"), amount(0, "task")] == ["1 retry", "2 retries", "0 tasks"]
    assert table(("A", "BB"), [("long", "x"), ("\n", "y")]) == "A     BB\nlong  x\n\\n    y"


@pytest.mark.parametrize(
    ("text", "sets", "payload"),
    [
        (None, [], {}),
        (None, ["a=1", "b=x", "c=", "d=null", 'e="1"'], {"a": 1, "b": "x", "c": "", "d": None, "e": "1"}),
        (None, ["a.b.c=[1]", "a.b.d=1e3"], {"a": {"b": {"c": [1], "d": 1000.0}}}),
        ('{"a": {"x": 1, "y": 2}}', ["a.y=3"], {"a": {"x": 1, "y": 3}}),
        (None, ["a=NaN", "b=k=v"], {"a": "NaN", "b": "k=v"}),
        (None, ["a=" + "[" * 5000], {"a": "[" * 5000}),
    ],
)
def test_payloads(text: str | None, sets: list[str], payload: dict[str, object]) -> None:
    assert with_sets(payload_of(text), sets) == payload


@pytest.mark.parametrize("words", ["a", "=1", "a..b=1", ".a=1", ".".join("a" * 300) + "=1"])
def test_a_set_without_a_name_or_value_is_refused(words: str) -> None:
    with pytest.raises(click.UsageError):
        with_sets({}, [words])


def test_too_many_lines_are_counted_but_what_matters_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    stream = io.StringIO()
    lines = PlainProgress(stream)
    for number in range(LINES_A_SECOND + 5):
        lines.tell(Sentence(f"line {number}", False))
    lines.tell(Sentence("failed", True))
    now[0] = 11.0
    lines.tick()
    lines.say("next")
    lines.close()
    told = stream.getvalue().splitlines()
    assert told[LINES_A_SECOND - 1 :] == [f"line {LINES_A_SECOND - 1}", "failed", "… and 5 more", "next"]


def test_a_watcher_who_went_away_does_not_stop_the_run() -> None:
    class Gone(io.StringIO):
        def write(self, text: str, /) -> int:
            raise BrokenPipeError

    lines = PlainProgress(Gone())
    lines.say("one")
    lines.say("two")
    lines.close()


class Screen(io.StringIO):
    """A terminal of 20 columns, as a text; it knows only the control sequences that an area uses."""

    def shown(self) -> list[str]:
        rows, row = [""], 0
        for part in (
            self.getvalue().replace("\r", "\0\r\0").replace("\n", "\0\n\0").replace("\x1b[", "\0\x1b[").split("\0")
        ):
            if part == "\n":
                row += 1
                rows += [""] * (row - len(rows) + 1)
            elif part.startswith("\x1b[J"):
                rows = [*rows[:row], ""]
                rows[row] += part[3:]
            elif part.startswith("\x1b["):
                row -= int(part[2 : part.index("A")])
            elif part != "\r":
                rows[row] += part
        return rows


def test_an_area_is_drawn_in_place_below_the_lines() -> None:
    screen = Screen()
    area = Area(cast("io.TextIOWrapper", screen))
    area.draw(["one", "two"])
    assert screen.shown() == ["one", "two"]
    area.write("said\n")
    area.draw(["three", "four", "five"])
    assert screen.shown() == ["said", "three", "four", "five"]
    area.draw(["six"])
    assert screen.shown() == ["said", "six"]
    area.clear()
    assert screen.shown() == ["said", ""]
    area.draw([f"row {number}" for number in range(20)])
    assert screen.shown()[1:] == [*(f"row {number}" for number in range(7)), "  …"]


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("漢字", 4, "漢字"), ("漢字x", 4, "漢…"), ("e\u0301e", 2, "e\u0301e")],
)
def test_lines_are_cut_to_the_width(text: str, columns: int, shown: str) -> None:
    assert cut(text, columns) == shown


def test_a_time_has_one_form() -> None:
    """2026-03-01T09:00:00Z, by `date -u -d 2026-03-01T09:00:00 +%s`."""
    micros = 1_772_355_600_123_456
    assert moment(micros) == "2026-03-01 09:00:00Z"
    assert moment(micros, millis=True) == "2026-03-01 09:00:00.123Z"
    assert moment_in("2026-03-01T09:00:00.123456Z") == "2026-03-01 09:00:00Z"


def test_on_a_terminal_a_table_fits_and_elsewhere_it_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("a", "x" * 100), ("bb", "y")]
    assert table(("ONE", "TWO"), rows).splitlines()[1] == "a    " + "x" * 100
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    assert table(("ONE", "TWO"), rows).splitlines() == ["ONE  TWO", "a    " + "x" * 14 + "…", "bb   y"]
    monkeypatch.setenv("COLUMNS", "50")  # what may give way does so first, down to 16, and no name does
    wide = [("name" * 5, "w" * 30, "p" * 30)]
    shown = table(("N", "W", "P"), wide, shrinks=(1,)).splitlines()[1]
    assert shown == "name" * 5 + "  " + "w" * 17 + "…" + "  " + "p" * 7 + "…"
    assert table(("N", "W", "P"), wide).splitlines()[1].endswith("p" * 30)
    monkeypatch.setenv("COLUMNS", "9")  # so little would say nothing
    assert table(("ONE", "TWO"), rows).splitlines()[1] == "a    " + "x" * 100
