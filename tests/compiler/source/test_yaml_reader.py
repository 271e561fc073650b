"""YAML bytes become nodes, and whatever is wrong with them becomes findings."""

import gc
import time
import tracemalloc

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from harness.pace import allowed
from noetl_ir.span import Span
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.source.limits import LIMITS, FileLimits
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, value_of
from noetlc.source.yaml_reader import Reading, read_yaml

BOMB = "workload:\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)


def read(text: str, limits: FileLimits = LIMITS) -> Reading:
    return read_yaml("t.yaml", text.encode(), limits)


def values(text: str) -> object:
    """The plain value of the only document, which has no errors."""
    reading = read(text)
    assert [item for item in reading.diagnostics if item.severity is Severity.ERROR] == []
    (document,) = reading.documents
    assert document is not None
    return value_of(document)


def codes(text: str) -> list[tuple[str, str]]:
    """Code and place of every finding."""
    return [(item.code, str(item.span)) for item in read(text).diagnostics]


def only(text: str) -> Diagnostic:
    (found,) = read(text).diagnostics
    return found


# Nodes


def test_keys_stay_text_and_values_are_read() -> None:
    assert values("on: 1\n404: x\n'q': [null, true, 1.5, -2]\n? long\n: {a: ~}") == {
        "on": 1,
        "404": "x",
        "q": [None, True, 1.5, -2],
        "long": {"a": None},
    }


def test_quoted_and_block_scalars_are_text() -> None:
    assert values("- '12'\n- \"yes\"\n- |\n  12\n- >-\n  null\n") == ["12", "yes", "12\n", "null"]


def test_several_documents_each_have_a_node_and_their_own_anchors() -> None:
    reading = read("a: &x 1\n---\nb: *x\n---\n- 2\n...\n")
    assert [value_of(node) for node in reading.documents if node] == [{"a": 1}, {"b": None}, [2]]
    assert [item.code for item in reading.diagnostics] == ["NL008"]


def test_spans_count_code_points_and_blocks_end_with_what_they_hold() -> None:
    reading = read("é: {x: '😀'}\nlist:\n  - a\n  - b: c\n\n# note\nlast: 1\n")
    (document,) = reading.documents
    assert isinstance(document, Mapping)
    assert document.span == (1, 1, 7, 8)
    flow, items = document.get("é"), document.get("list")
    assert isinstance(flow, Mapping) and isinstance(items, Sequence)
    assert flow.span == (1, 4, 1, 12)
    assert items.span == (3, 3, 4, 9)
    assert items.items[1].span == (4, 5, 4, 9)
    key = document.key("last")
    assert key is not None and key.span == (7, 1, 7, 5)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_byte_order_marks_do_not_shift_places(encoding: str) -> None:
    reading = read_yaml("t.yaml", "é: 'ü'\nb: 010\n".encode(encoding))
    assert [(item.code, item.span) for item in reading.diagnostics] == [("NL016", (2, 4, 2, 7))]
    assert reading.source.text == "é: 'ü'\nb: 010\n"


def test_invisible_characters_are_kept() -> None:
    assert values('a: "x\\u200b\\u202e\\0y"\nb: x\u200by') == {"a": "x\u200b\u202e\0y", "b": "x\u200by"}


def test_merge_keys_merge_and_are_overridden() -> None:
    text = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {y: 5, <<: *a}\nd: {<<: [*b, *a]}\ne: {'<<': 1}\n"
    assert values(text) == yaml.safe_load(text.replace("e: {'<<': 1}\n", "")) | {"e": {"<<": 1}}


def test_a_key_may_be_an_alias() -> None:
    assert values("a: &x name\n*x : 1\n") == {"a": "name", "name": 1}


def test_templates_without_quotes_are_read_as_the_text_that_was_meant() -> None:
    reading = read("a: {{ x }}\nb: [{{ f(y, y) }}]\n")
    assert [item.code for item in reading.diagnostics] == ["NL020", "NL020"]
    assert [value_of(node) for node in reading.documents if node] == [{"a": "{{ x }}", "b": ["{{ f(y, y) }}"]}]
    assert [item.fix and item.fix.text for item in reading.diagnostics] == ['"{{ x }}"', '"{{ f(y, y) }}"']


# Scenarios


def test_scenario_94_big_integers_are_exact() -> None:
    text = "workload: {id: 9007199254740993, huge: 123456789012345678901234567890}"
    assert values(text) == {"workload": {"id": 9007199254740993, "huge": 123456789012345678901234567890}}


def test_scenario_96_dates_stay_text_and_other_tags_are_refused() -> None:
    dates = "workload: {since: 2026-01-02, at: 2026-01-02T03:04:05Z}"
    assert values(dates) == {"workload": {"since": "2026-01-02", "at": "2026-01-02T03:04:05Z"}}
    assert read(dates).diagnostics == ()
    tags = [
        "!!binary aGk=",
        "!!set {a, b}",
        "!!timestamp 2026-01-02",
        "!!omap [a: 1]",
        "!!python/name:os.system x",
    ]
    tags += ["!mine x", "!<tag:example.org,2026:x> x", "!!python/object/apply:os.system [ls]", "!!str {a: 1}"]
    for tag in tags:
        assert codes(f"workload: {{x: {tag}}}") == [("NL011", "1:15")], tag


@pytest.mark.parametrize(
    ("text", "second", "first"),
    [
        ("- step: pay\n  next: {a: 1}\n  next: {b: 2}\n", "3:3", "2:3"),
        ("workload:\n  a:\n    - {x: 1,\n       y: 2, x: 3}\n", "4:14", "3:8"),
        ("metadata: {name: a}\nkind: x\n'metadata': {}\n", "3:1", "1:1"),
    ],
)
def test_scenario_98_duplicate_keys_are_errors_with_both_lines(text: str, second: str, first: str) -> None:
    found = only(text)
    assert (found.code, found.severity, str(found.span)) == ("NL004", Severity.ERROR, second)
    assert [str(item.span) for item in found.related] == [first]
    lines = first.partition(":")[0], second.partition(":")[0]
    assert found.message.endswith(f"in lines {lines[0]} and {lines[1]}")


def test_scenario_98_a_merge_key_with_a_local_override_is_no_duplicate() -> None:
    assert read("a: &a {x: 1}\nb: {<<: *a, x: 2}\nc:\n  x: 3\n  <<: *a\n").diagnostics == ()


def test_scenario_100_what_yaml_versions_read_differently_is_told_with_the_value() -> None:
    found = read("workload: {mode: 0644, at: 22:30, ratio: 1:30, code: 007, v: 1.10, us: 1_000}").diagnostics
    assert [(item.code, item.severity, item.span.column) for item in found] == [
        ("NL016", Severity.WARNING, 18),
        ("NL016", Severity.WARNING, 28),
        ("NL016", Severity.WARNING, 42),
        ("NL016", Severity.WARNING, 54),
        ("NL017", Severity.NOTE, 62),
        ("NL016", Severity.WARNING, 72),
    ]
    for item, value in zip(found, ("420", "1350", "90", "7", "1.1", "1000"), strict=True):
        assert value in item.message
        assert item.fix is not None and item.fix.text[0] == '"'


def test_scenario_102_an_alias_bomb_is_refused_quickly_and_in_little_memory() -> None:
    tracemalloc.start()
    begun = time.process_time()
    reading = read(BOMB + "  end: 1\n")
    spent = time.process_time() - begun
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [item.code for item in reading.diagnostics] == ["NL007"]
    assert spent < allowed(0.5)
    assert peak < 50_000_000


def test_scenario_102_a_bomb_of_merge_keys_or_long_text_is_refused() -> None:
    merges = "m0: &m0 {x: 1}\n" + "".join(
        f"m{n}: &m{n} {{a: {{<<: *m{n - 1}}}, b: {{<<: *m{n - 1}}}}}\n" for n in range(1, 40)
    )
    assert [item.code for item in read(merges).diagnostics] == ["NL007"]
    texts = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 500)}]\n"
    assert [item.code for item in read(texts).diagnostics] == ["NL007"]


@pytest.mark.parametrize("text", ["[" * 3000, "{a: " * 3000, "- " * 3000 + "x", "? " * 3000, "a: " + "[" * 101])
def test_scenario_102_deep_nesting_is_a_finding(text: str) -> None:
    assert [item.code for item in read(text).diagnostics] == ["NL006"]


def test_scenario_102_depth_counts_through_aliases() -> None:
    half = "[" * 60 + "1" + "]" * 60
    assert read(f"a: &a {half}\nb: *a\n").diagnostics == ()
    assert [item.code for item in read(f"a: &a {half}\nb: {'[' * 60}*a{']' * 60}\n").diagnostics] == ["NL006"]


# Findings


def test_the_limit_of_documents() -> None:
    few = LIMITS._replace(documents=3)
    assert [item.code for item in read("---\n---\n---\n", few).diagnostics] == []
    reading = read("---\n---\n---\n--- 1\n", few)
    assert [item.code for item in reading.diagnostics] == ["NL005"]


def test_the_limit_of_parts_and_of_bytes() -> None:
    few = LIMITS._replace(events=10)
    assert [item.code for item in read("[1, 2, 3]", few).diagnostics] == []
    assert [item.code for item in read("[1, 2, 3, 4, 5]", few).diagnostics] == ["NL005"]
    reading = read("a: 1234567", LIMITS._replace(size=9))
    assert ([item.code for item in reading.diagnostics], reading.documents) == (["NL005"], ())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [("NL019", "1:1")]),
        ("# only a comment\n", [("NL019", "1:1")]),
        ("a: &a [*a]", [("NL009", "1:8")]),
        ("a: *x", [("NL008", "1:4")]),
        ("? [a]\n: b", [("NL010", "1:3")]),
        ("{a: 1}: b", [("NL010", "1:1")]),
        ("x: !!int many", [("NL012", "1:4")]),
        ("x: {<<: 3}", [("NL013", "1:9")]),
        ("x: .inf\ny: -.INF\nz: .nan\nw: 1.0e+999", [("NL014", f"{n}:4") for n in (1, 2, 3, 4)]),
        ("w:\n  -step: a\n", [("NL018", "2:3")]),
        ("a: x\0y", [("NL002", "1:5")]),
        ("a: 1\nb: \x07", [("NL002", "2:4")]),
        ("a: &a {<<: *a}", [("NL009", "1:12"), ("NL013", "1:12")]),
    ],
)
def test_a_wrong_file_gives_the_finding_at_its_place(text: str, found: list[tuple[str, str]]) -> None:
    assert codes(text) == found


def test_bytes_that_are_no_utf_8_have_a_line() -> None:
    reading = read_yaml("t.yaml", b"a: 1\nb: \xc3\xa9\xe9x\n")
    (found,) = reading.diagnostics
    assert (found.code, found.span, reading.documents) == ("NL001", (2, 5, 2, 6), ())
    assert "byte 10 (E9" in found.message
    assert reading.source.line_text(2) == "b: é\ufffdx"


def test_utf_16_without_a_mark_is_recognised() -> None:
    (found,) = read_yaml("t.yaml", "a: 1".encode("utf-16-le")).diagnostics
    assert found.code == "NL002" and "UTF-16" in found.help


def test_what_is_wrong_after_a_finding_is_still_found() -> None:
    text = "a: !x 1\na: yes\n? [q]\n: 1\nb: {c: *n, c: .inf}\n"
    assert [code for code, _ in codes(text)] == [
        "NL011",
        "NL004",
        "NL016",
        "NL010",
        "NL008",
        "NL004",
        "NL014",
    ]


def test_very_many_findings_of_a_kind_are_cut() -> None:
    reading = read("[" + "yes, " * 5000 + "*x]")
    assert len(reading.diagnostics) == 1001
    assert reading.diagnostics[-1].code == "NL008"


# Any bytes

SEEDS = [
    "a: &x {b: [1, yes, 'it''s'], <<: {c: 2}}\nd: *x\n",
    'step: "{{ a }}\\n"\ncode: |2-\n    x = 1\n\n  y\ntext: >+\n  a\n\n  b\n\n',
    "- !!int '3'\n- ? k\n  : v\n- -x: {{ y }}\n--- \n%TAG ! tag:x,1:\n---\n!a b\n",
]
PIECES = st.sampled_from(
    [*"\n\t :-?[]{},&*!|>'\"%@`#\\<~0é\x00\ufeff\u2028\x85", "  ", "- ", ": ", "{{", "---\n", "<<: "]
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(PIECES) + text[at + draw(st.integers(0, 3)) :]
    return text.encode()


@given(st.one_of(st.binary(max_size=60), mutated()))
def test_no_bytes_raise_and_every_place_is_in_the_file(data: bytes) -> None:
    reading = read_yaml("t.yaml", data)
    lines = reading.source.line_count
    for item in reading.diagnostics:
        for span in (item.span, *(other.span for other in item.related)):
            assert 1 <= span.line <= span.end_line <= lines
            assert 1 <= span.column <= len(reading.source.line_text(span.line)) + 2
    if None in reading.documents or not reading.documents:
        assert any(item.severity is Severity.ERROR for item in reading.diagnostics)


@given(st.one_of(st.binary(max_size=60), mutated()))
def test_the_parser_in_python_never_raises_either(data: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("noetlc.source.yaml_reader._LOADER", yaml.BaseLoader)
        read_yaml("t.yaml", data)


def scalars(node: Node | None) -> list[Scalar]:
    match node:
        case Scalar():
            return [node]
        case Mapping():
            return [found for key, value in node.entries for found in (key, *scalars(value))]
        case Sequence():
            return [found for item in node.items for found in scalars(item)]
    return []


def test_places_do_not_count_byte_order_marks() -> None:
    reading = read_yaml("t.yaml", "\ufeff\ufeffa: é\nb: *x\n".encode())
    assert [item.span for item in reading.diagnostics] == [Span(2, 4, 2, 6)]


@pytest.mark.parametrize("text", ["---\n ", "? a\n ", "a: 1\n? >+\n  b\n ", "---\n#", "- ? b\n  "])
def test_an_empty_value_at_the_end_of_the_file_is_in_the_file(text: str) -> None:
    reading = read_yaml("t.yaml", text.encode())
    places = [found for document in reading.documents for found in scalars(document) if not found.text]
    assert [found.span for found in places] == [reading.source.span_of(*found.source) for found in places] != []


@given(mutated())
def test_what_stands_at_the_span_of_a_scalar_is_the_scalar(data: bytes) -> None:
    reading = read_yaml("t.yaml", data)
    for scalar in (found for document in reading.documents for found in scalars(document)):
        start, end = scalar.source
        assert reading.source.span_of(start, end)[:2] == scalar.span[:2]
        is_plain = scalar.style == "" and scalar.text and scalar.text[:2] != "{{"
        # `a::` and `-:` are the keys `a:` and `-`, which alone are something else
        if (is_plain or scalar.style in ("'", '"')) and scalar.text[-1:] not in (":", "-", "?"):
            again = read("--- " + reading.source.text[start:end] + "\n").documents[0]
            assert isinstance(again, Scalar)
            assert again.text == scalar.text


@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize(
    "before", ["# a{}# b\n", 'q: "a{}b"\n', "q: 'a{}b'\n", "q: |\n  a{}  b\n", "q: a{}  b\n", "{}\n"]
)
@pytest.mark.parametrize("wrong", ["x: *gone", "x: {{ a }}/b", 'x: "a', "x: 007", "x: b: c", "- y"])
def test_a_line_that_only_yaml_ends_is_not_counted(odd: str, before: str, wrong: str) -> None:
    above = "a: 1\n" + before.format(odd) + "b: 2\n"
    assert [item.span.line for item in read(above + wrong + "\n").diagnostics] == [above.count("\n") + 1]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029"), max_size=9)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=9,
)


@given(VALUES)
def test_what_pyyaml_writes_is_read_back(value: object) -> None:
    text = yaml.safe_dump(value, allow_unicode=True)
    reading = read(text)
    (document,) = reading.documents
    assert document is not None
    assert value_of(document) == value


def test_reading_makes_no_cycles() -> None:
    gc.collect()
    gc.disable()
    try:
        reading = read("a: &a [1, {b: 2}]\nc: *a\nd: {<<: {e: yes}}\n")
        del reading
        assert gc.collect() == 0
    finally:
        gc.enable()
