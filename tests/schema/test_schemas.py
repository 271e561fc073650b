"""JSON Schemas of untrusted authors: held against `jsonschema` and `re`, with limits."""

import random
import re
import time
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from harness.samples import first
from noetl_ir.schemas import faults, is_text, misuses
from noetl_ir.schemas.formats import FORMATS
from noetl_ir.schemas.patterns import BadPattern, Pattern
from noetl_ir.schemas.reading import MAX_DEPTH

TYPES = ["string", "integer", "number", "boolean", "object", "array", "null"]


def nothing(units: int) -> None:
    """Work that nobody counts."""


class Chance:
    """Schemas and values by chance."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)

    def value(self, depth: int = 3) -> Any:
        r = self.r
        match r.randint(0, 9 if depth else 6):
            case 0:
                return None
            case 1:
                return r.choice([True, False])
            case 2 | 3:
                return r.choice([0, 1, 2, 3, -1, 1.0, 2.5, 10, 12])
            case 4 | 5 | 6:
                return r.choice(["", "a", "ab", "abc", "b", "x1"])
            case 7 | 8:
                return [self.value(depth - 1) for _ in range(r.randint(0, 3))]
        return {r.choice("abc"): self.value(depth - 1) for _ in range(r.randint(0, 3))}

    def schema(self, depth: int = 3) -> Any:
        r = self.r
        if r.random() < 0.1:
            return r.choice([True, False])
        made: dict[str, Any] = {}
        for _ in range(r.randint(0, 3)):
            made.update(self.keyword(depth))
        if depth == 3:
            made["$defs"] = {"d": self.schema(1)}
        return made

    def keyword(self, depth: int) -> dict[str, Any]:
        r = self.r
        flat = {
            "type": r.choice([r.choice(TYPES), r.sample(TYPES, 2)]),
            "enum": [self.value(1) for _ in range(2)],
            "const": self.value(2),
            **{key: r.choice([0, 1, 2, 2.5]) for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")},
            "multipleOf": r.choice([1, 2, 0.5, 3]),
            **{f"{m}{what}": r.randint(0, 2) for m in ("min", "max") for what in ("Length", "Items", "Properties")},
            "pattern": r.choice(["^a", "b$", "a|x", "^[a-c]+$", "[0-9]"]),
            "uniqueItems": True,
            "required": r.sample("abc", r.randint(0, 2)),
            "dependentRequired": {r.choice("abc"): r.sample("abc", 1)},
        }
        if depth == 0 or r.random() < 0.6:
            key = r.choice([*flat, "type", "type"])
            return {key: flat[key]}
        nested = {
            **{key: self.schema(depth - 1) for key in ("items", "contains", "additionalProperties", "not")},
            "propertyNames": self.schema(0),
            **{key: [self.schema(depth - 1) for _ in range(2)] for key in ("prefixItems", "allOf", "anyOf", "oneOf")},
            "properties": {key: self.schema(depth - 1) for key in "ab"},
            "dependentSchemas": {r.choice("abc"): self.schema(depth - 1)},
            "patternProperties": {r.choice(["^a", "b|c"]): self.schema(depth - 1)},
            "$ref": "#/$defs/d",
        }
        key = r.choice([*nested, "if", "contains2"])
        if key == "if":
            return {word: self.schema(depth - 1) for word in ("if", "then", "else")}
        if key == "contains2":
            return {"contains": self.schema(depth - 1), "minContains": r.randint(0, 2), "maxContains": r.randint(0, 2)}
        return {key: nested[key]}


@pytest.mark.parametrize("seed", first(1, range(4)))
def test_verdicts_are_those_of_another_implementation(seed: int) -> None:
    chance = Chance(seed)
    tried = refused = 0
    for _ in range(160):
        schema = chance.schema()
        # A reference that comes back to itself is refused here, and ends in a RecursionError there.
        if not isinstance(schema, dict) or misuses(schema):
            continue
        validator = Draft202012Validator(schema)
        for _ in range(4):
            value = chance.value()
            found = faults(schema, value, "x")
            assert validator.is_valid(value) is not bool(found), (schema, value, found)
            tried, refused = tried + 1, refused + bool(found)
    assert tried > 300 and 40 < refused < tried - 40


ATOMS = ["a", "b", "c", ".", "[ab]", "[^a]", r"\d", "^", "$", "(a|b)", "(?:ab)", r"\w", "x?y", r"\x61", r"[\d\-]"]


def _pattern(r: random.Random, depth: int = 3) -> str:
    made = ""
    for _ in range(r.randint(1, 4)):
        atom = r.choice(ATOMS)
        if depth and r.random() < 0.3:
            atom = f"({_pattern(r, depth - 1)}{'|' + _pattern(r, depth - 1) if r.random() < 0.5 else ''})"
        if atom not in ("^", "$") and r.random() < 0.4:
            atom += r.choice(["*", "+", "?", "{2}", "{1,3}", "{0,}", "*?"])
        made += atom
    return made


def test_patterns_match_what_those_of_another_implementation_do() -> None:
    r = random.Random(7)
    tried = 0
    for _ in range(1500):
        text = _pattern(r)
        # `$` is the end of the text in ECMA-262, and not before its last line end.
        other, ours = re.compile(text.replace("$", r"\Z"), re.ASCII), Pattern(text)
        for _ in range(4):
            subject = "".join(r.choice("abcxy1-\n") for _ in range(r.randint(0, 7)))
            assert bool(other.search(subject)) is ours.matches(subject, nothing), (text, subject)
            tried += 1
    assert tried == 6000


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(", "missing"),
        (")", "closes nothing"),
        ("[", "missing"),
        ("a**", "repeats nothing"),
        ("(?=a)", "looks around"),
        ("(?<!a)b", "looks around"),
        (r"(a)\1", "looks back"),
        (r"\bword", "boundary"),
        ("a{2", "numbers"),
        (r"\p{Foo}", "category"),
        ("[b-a]", "range"),
        ("(a{1,99}){1,99}", "states"),
        ("((){999}){999}", "parts"),
        ("a" * 1001, "longer"),
        ("(" * 100 + ")" * 100, "deeply"),
    ],
)
def test_patterns_that_are_refused(text: str, why: str) -> None:
    with pytest.raises(BadPattern, match=why):
        Pattern(text)


def test_classes_of_unicode() -> None:
    assert Pattern(r"^\p{Lu}\p{L}+$").matches("Ünï", nothing)
    assert not Pattern(r"^\p{Lu}").matches("ünï", nothing)
    assert Pattern(r"\P{L}").matches("a1", nothing) and not Pattern(r"\P{L}").matches("ab", nothing)
    assert Pattern(r"\u{1F600}").matches("x😀", nothing)


@pytest.mark.parametrize("text", ["^(a+)+$", "(a*)*b", "^(a|a)*$", "(.*a){12}$", "([a-z]+)*[0-9]"])
def test_no_pattern_hangs(text: str) -> None:
    # Each takes a backtracking matcher longer than the universe has.
    began = time.process_time()
    faults({"pattern": text}, "a" * 20_000 + "!", "x")
    assert time.process_time() - began < 5


def test_a_value_that_is_too_much_work_is_a_fault() -> None:
    doubling = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema: Any = {"$ref": "#/$defs/d0", "$defs": {**doubling, "d40": {"type": "string"}}}
    assert not misuses(schema)
    began = time.process_time()
    assert faults(schema, "x", "v") == ("`v` is more work to check than a value may be",)
    assert time.process_time() - began < 20
    nested: Any = []
    for _ in range(500):
        nested = [nested]
    assert faults({"items": {"$ref": "#"}}, nested, "v") == ("`v` is more work to check than a value may be",)


def test_a_list_of_a_hundred_thousand_rows_is_not_too_much() -> None:
    row = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string", "pattern": "^n"}}}
    rows: Any = [{"id": n, "name": f"n{n}"} for n in range(100_000)]
    schema: Any = {"type": "array", "items": row}
    assert faults(schema, rows, "rows") == ()
    rows[77_777]["id"] = "x"
    assert faults(schema, rows, "rows") == ("`rows[77777].id` must be a whole number, and is a text",)


@pytest.mark.parametrize(
    ("schema", "path", "said"),
    [
        ({"type": "int"}, ("type",), "is no type"),
        ({"minimun": 3}, ("minimun",), "unknown keyword"),
        ({"default": 3}, ("default",), "not supported"),
        ({"properties": {"a": {"default": 1}}}, ("properties", "a", "default"), "not supported"),
        ({"$ref": "https://x/y"}, ("$ref",), "nothing is fetched"),
        ({"$ref": "other.json#/a"}, ("$ref",), "nothing is fetched"),
        ({"$ref": "#/$defs/a"}, ("$ref",), "leads to no schema"),
        ({"allOf": [True, False], "$ref": "#/allOf/01"}, ("$ref",), "leads to no schema"),
        ({"allOf": [True, False], "$ref": "#/allOf/0000000001"}, ("$ref",), "leads to no schema"),
        ({"$ref": "#/const", "const": {"type": "string"}}, ("$ref",), "leads to no schema"),
        ({"$ref": "#"}, (), "without an end"),
        ({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}, ("$defs", "a"), "without an end"),
        ({"minLength": -1}, ("minLength",), "whole number from 0"),
        ({"minimum": "1"}, ("minimum",), "a number"),
        ({"minimum": float("inf")}, ("minimum",), "a number"),
        ({"multipleOf": 0}, ("multipleOf",), "above 0"),
        ({"enum": []}, ("enum",), "list of the values"),
        ({"items": [{}]}, ("items",), "a schema is a mapping"),
        ({"required": "a"}, ("required",), "list of keys"),
        ({"format": "credit-card"}, ("format",), "is no format"),
        ({"enum": ["x" * 100_001]}, (), "larger than"),
        ({"enum": [1] * 5_000}, (), "larger than"),
    ],
)
def test_misuses_are_found_where_they_stand(schema: Any, path: tuple[str, ...], said: str) -> None:
    found = misuses(schema)
    assert len(found) == 1 and found[0].path == path and said in found[0].message


def test_schemas_that_are_nested_too_deeply_are_refused() -> None:
    schema: Any = {}
    for _ in range(MAX_DEPTH):
        schema = {"not": schema}
    assert "deeper" in misuses(schema)[0].message


def test_a_schema_may_hold_itself_in_a_part_of_the_value() -> None:
    tree: Any = {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}
    assert not misuses(tree)
    assert faults(tree, {"left": {"right": {}}}, "t") == ()
    assert faults(tree, {"left": {"right": 1}}, "t") == ("`t.left.right` must be a mapping, and is a whole number",)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        # RFC 3339 §5.6 and its appendix; RFC 4291 §2.2 for addresses.
        ("date", ["2024-02-29", "0001-12-31"], ["2023-02-29", "2024-13-01", "2024-1-01", "1900-02-29", "24-01-01"]),
        ("time", ["12:00:00Z", "23:59:60Z", "01:02:03.5+14:00"], ["12:00:00", "24:00:00Z", "12:60:00Z", "12:00:60Z"]),
        ("date-time", ["1985-04-12T23:20:50.52Z", "1990-12-31T23:59:60Z"], ["1985-04-12 23:20:50Z", "1985-04-12"]),
        ("email", ["a@b.example"], ["a", "a@", "@b", "a b@c"]),
        ("uuid", ["f81d4fae-7dec-11d0-a765-00a0c91e6bf6"], ["f81d4fae7dec11d0a76500a0c91e6bf6"]),
        ("uri", ["https://example.com/a?b#c", "urn:x:y"], ["example.com", "//x", "http://a b"]),
        ("hostname", ["example.com", "a-1"], ["-a", "a..b", "a" * 64]),
        ("ipv4", ["127.0.0.1"], ["256.0.0.1", "1.2.3", "01.2.3.4"]),
        ("ipv6", ["::", "::1", "2001:DB8::8:800:200C:417A", "::FFFF:129.144.52.38", "1:2:3:4:5:6:7:8"],
         ["1::2::3", "12345::", "1:2:3:4:5:6:7", ":1", "1:2:3:4:5:6:7:8:9", "1.2.3.4"]),
    ],
)  # fmt: skip
def test_formats_hold(name: str, good: list[str], bad: list[str]) -> None:
    assert all(FORMATS[name](text, nothing) for text in good)
    assert [text for text in bad if FORMATS[name](text, nothing)] == []


def test_equality_is_that_of_json() -> None:
    assert faults({"const": 1}, 1.0, "x") == () and faults({"const": 1}, True, "x") != ()
    long = 2**70
    assert faults({"const": long}, 2.0**70, "x") == () and faults({"enum": [2.0**70]}, long, "x") == ()
    assert faults({"uniqueItems": True}, [long, 2.0**70], "x") != () and faults({"const": long}, hex(long), "x") != ()
    assert (
        faults({"enum": [[0]]}, [False], "x") != ()
        and faults({"enum": [{"a": 1, "b": 2}]}, {"b": 2, "a": 1}, "x") == ()
    )
    assert faults({"multipleOf": 0.1}, 0.3, "x") == () and faults({"multipleOf": 0.1}, 0.35, "x") != ()
    assert faults({"type": "integer"}, 1.0, "x") == () and faults({"type": "integer"}, True, "x") != ()


def test_a_fault_never_shows_the_value() -> None:
    secret = "s3cret-s3cret"
    schemas: list[Any] = [
        {"type": "integer"}, {"enum": ["a"]}, {"const": 1}, {"maxLength": 3}, {"pattern": "^x"}, {"format": "date"},
        {"not": {}}, {"anyOf": [{"type": "null"}]}, {"oneOf": [{}, {}]}, {"$ref": "#/$defs/a", "$defs": {"a": False}},
    ]  # fmt: skip
    for schema in schemas:
        (said,) = faults(schema, secret, "token")
        assert secret not in said and said.startswith("`token` ")


def test_which_values_are_text() -> None:
    schema: Any = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "additionalProperties": {"type": "string"},
    }
    assert is_text({"type": "string"}) and not is_text({"type": ["string", "null"]})
    assert is_text(schema, ("a",)) and not is_text(schema, ("b",)) and is_text(schema, ("c",))
    assert not is_text(schema, ("a", "x")) and not is_text({}, ("a",)) and not is_text(True, ("a",))
