"""Plain scalars mean what PyYAML's SafeLoader makes of them, except where LANGUAGE §1 differs."""

import math
from datetime import date

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from noetlc.source.resolve import MAX_DIGITS, ScalarValue, read_tagged, resolve

NUMBERISH = st.text("0123456789+-._:eExobn", max_size=12)
WORDISH = st.text("yesnotrufalYESNOTRUFALl~", max_size=6)


def pyyaml(text: str) -> object:
    """The value that SafeLoader reads for a plain scalar; its exception where it fails."""
    loader = yaml.SafeLoader("")
    tag = loader.resolve(yaml.ScalarNode, text, (True, False))
    try:
        return loader.construct_object(yaml.ScalarNode(tag, text))
    except Exception as error:
        return error


@given(st.one_of(NUMBERISH, WORDISH, st.text(max_size=8)))
@example("0_").via("octal zero")
@example("190:20:30.15")
@example("-1:30")
@example("1.0e+400")
@example("2026-01-02")
@example("1._5")
def test_values_are_those_of_pyyaml(text: str) -> None:
    expected = pyyaml(text)
    value, code, _ = resolve(text)
    if isinstance(expected, date | Exception) or text in ("=", "<<"):
        assert value == text  # timestamps and what PyYAML chokes on
    elif isinstance(expected, float) and not math.isfinite(expected):
        assert (value, code) == (text, "NL014")
    else:
        assert (type(value), value) == (type(expected), expected)


@given(st.one_of(NUMBERISH, WORDISH))
def test_what_yaml_12_reads_differently_is_told(text: str) -> None:
    value, code, _ = resolve(text)
    if code in ("", "NL017"):
        assert value == core_schema(text)


def core_schema(text: str) -> ScalarValue:
    """YAML 1.2.2 §10.3.2, as its table is written."""
    if text in ("null", "Null", "NULL", "~", ""):
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text in ("true", "True", "TRUE")
    digits = text[1:] if text[:1] in ("+", "-") else text
    if digits.isascii() and digits.isdigit():
        return int(text)
    for prefix, base, letters in (("0o", 8, "01234567"), ("0x", 16, "0123456789abcdefABCDEF")):
        if text.startswith(prefix) and len(text) > 2 and all(char in letters for char in text[2:]):
            return int(text[2:], base)
    is_number = any(char.isdigit() for char in text) and set(text) <= set("0123456789+-.eE")
    try:
        return float(text) if is_number else text
    except ValueError:
        return text


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("yes", True, "true; YAML 1.2 reads text"),
        ("Off", False, "false; YAML 1.2 reads text"),
        ("010", 8, "8; YAML 1.2 reads 10"),
        ("0644", 420, "420; YAML 1.2 reads 644"),
        ("007", 7, "7: the leading zeros are lost"),
        ("1:30", 90, "90; YAML 1.2 reads text"),
        ("22:30", 1350, "1350; YAML 1.2 reads text"),
        ("1_000", 1000, "1000; YAML 1.2 reads text"),
        ("0b101", 5, "5; YAML 1.2 reads text"),
        ("0o14", "0o14", "text; YAML 1.2 reads 12"),
        ("09", "09", "text; YAML 1.2 reads 9"),
        ("1e3", "1e3", "text; YAML 1.2 reads 1000.0"),
    ],
)
def test_the_value_read_is_told(text: str, value: ScalarValue, said: str) -> None:
    assert resolve(text) == (value, "NL016", f"`{text}` is read as {said}")


@pytest.mark.parametrize("text", ["true", "null", "~", "", "0", "-12", "12.5", "1.0", "text", "y", "n", "2026-01-02"])
def test_what_both_read_alike_is_not_told(text: str) -> None:
    assert resolve(text).code == ""


def test_a_lost_final_zero_is_told() -> None:
    assert resolve("1.10") == (1.1, "NL017", "`1.10` is the number 1.1: the last 0 is lost")
    assert resolve("2.0").code == ""


def test_integers_are_exact_up_to_the_limit() -> None:
    assert resolve("9" * MAX_DIGITS).value == 10**MAX_DIGITS - 1
    assert resolve("9" * (MAX_DIGITS + 1)).code == "NL015"
    assert resolve("0" + "9" * 5000).value == "0" + "9" * 5000


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("str", "12", "12"),
        ("int", "12", 12),
        ("int", "0x1F", 31),
        ("float", "1", 1.0),
        ("float", "1e3", 1000.0),
        ("bool", "Yes", True),
        ("null", "anything", None),
    ],
)
def test_tags_are_honoured(kind: str, text: str, value: ScalarValue) -> None:
    reading = read_tagged(kind, text)
    assert (type(reading.value), reading) == (type(value), (value, "", ""))


@pytest.mark.parametrize(
    ("kind", "text", "code"),
    [("int", "many", "NL012"), ("int", "", "NL012"), ("bool", "y", "NL012"), ("float", ".nan", "NL014")],
)
def test_text_that_does_not_fit_its_tag_is_told(kind: str, text: str, code: str) -> None:
    assert read_tagged(kind, text)[:2] == (text, code)
