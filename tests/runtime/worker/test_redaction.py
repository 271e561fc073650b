"""Known secrets leave no trace in what is recorded, come back in task fields, and nothing else is touched."""

import hmac
import json
import re
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.secrets.keys import execution_key
from noetl.worker.redaction import Redactor
from noetl.worker.secret_forms import forms_of
from noetl_ir.codec import pack
from noetl_ir.expr import Json
from noetl_ir.outcome import HANDLE_KEY, Handle
from noetl_ir.scopes.values import Fault

SECRET = 'pa"ss wörd/+=\n?'
VALUES: dict[tuple[str, str], Json] = {("db", "password"): SECRET, ("a/b c", "x:y"): "second-secret", ("n", "port"): 8}


def opened(entry: str, field: str) -> Json:
    if (entry, field) not in VALUES:
        raise KeyError(f"no {entry}")
    return VALUES[entry, field]


def redactor(key: bytes = b"k" * 32, shared: bytes = b"s" * 32) -> Redactor:
    made = Redactor(key, opened, shared)
    made.learn((entry, field, str(value)) for (entry, field), value in VALUES.items())
    return made


def utf8(text: str) -> bytes:
    return text.encode()


WRITTEN = [
    SECRET,
    json.dumps({"p": SECRET}),
    json.dumps({"p": SECRET}, ensure_ascii=False),
    quote(SECRET),
    quote(SECRET, safe=""),
    quote_plus(SECRET),
    re.sub("%..", lambda hit: hit[0].lower(), quote(SECRET)),
    utf8(SECRET).hex(),
    utf8(SECRET).hex().upper(),
    b64encode(utf8(SECRET)).decode(),
    b64encode(utf8(SECRET)).decode().rstrip("="),
    urlsafe_b64encode(utf8(SECRET)).decode(),
    str(utf8(SECRET)),
    *(b64encode(utf8("u" * count + ":" + SECRET + "tail")).decode() for count in range(5)),
    f"postgres://u:{quote(SECRET)}@h/d and {SECRET} and second-secret",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_secret_is_hidden_in_every_form_and_comes_back(text: str) -> None:
    made = redactor()
    value: Json = {"deep": [{"text": f"<{text}>"}], text: None, "n": 1}
    hidden = made.redact(value)
    shown = json.dumps(hidden, ensure_ascii=False)
    assert "[[secret:db:password:" in shown
    for form in forms_of(SECRET).values():
        assert form not in shown
    assert made.restore(hidden) == value
    pack(hidden)


@given(st.text(min_size=8, max_size=40), st.binary(max_size=7), st.binary(max_size=7))
def test_no_base64_of_something_larger_lets_a_secret_through(secret: str, before: bytes, after: bytes) -> None:
    try:
        data = secret.encode()
    except UnicodeEncodeError:
        return
    made = Redactor(b"k" * 32, lambda entry, field: secret)
    made.learn([("e", "f", secret)])
    text = b64encode(before + data + after).decode()
    hidden = made.redact(text)
    assert isinstance(hidden, str)
    assert made.restore(hidden) == text
    left = re.sub(r"\[\[secret:[^\]]*\]\]", "", hidden)
    around = -(-len(before) * 8 // 6) - (-len(after) * 8 // 6)
    assert len(left.rstrip("=")) <= around + 2, "at most the characters that others decide too"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(alphabet='ab[]:sectr{}\\"%/+= é\0', max_size=30),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=10,
    ),
    st.sampled_from(["", *WRITTEN]),
)
def test_hiding_and_restoring_give_the_same_value(value: Json, text: str) -> None:
    made = redactor()
    whole: Json = [value, text]
    assert made.restore(made.redact(whole)) == whole


def test_nothing_to_hide_is_the_very_same_object() -> None:
    value: Json = {"token": "abc-1", "auth": ["Bearer x", "?key=1"], "n": 2**70}
    assert redactor().redact(value) is value
    assert redactor().restore(value) is value


def test_scenario_72_values_are_hidden_because_they_are_known_and_for_nothing_else() -> None:
    value: Json = {"auth_mode": "basic", "token": "abc-1", "db_auth": "pg_main", "url": "https://x.test/?key=1"}
    made = Redactor(b"k" * 32, opened)
    made.learn([("pg_main", "password", "a-real-secret")])
    assert made.redact(value) == value
    assert made.redact({"x": "a-real-secret"}) != {"x": "a-real-secret"}


def test_a_short_value_is_left_alone() -> None:
    made = Redactor(b"k" * 32, opened)
    made.learn([("e", "f", "1234567"), ("e", "g", "")])
    assert made.redact("1234567") == "1234567"


def test_text_from_outside_that_looks_like_a_marker_stays_text() -> None:
    made, other = redactor(), redactor(b"o" * 32, b"another installation's key")
    forged = [
        "[[secret:db:password:plain:" + "0" * 32 + "]]",
        "[[secret:db:password]]",
        other.marker("db", "password", "plain"),
        made.marker("db", "password", "plain").replace(":plain:", ":hex:"),
        made.marker("db", "password", "plain").replace("db", "dc"),
    ]
    for text in forged:
        value: Json = {"a": text, "b": f"x {text} y"}
        assert made.restore(value) == value
        assert made.redact(value) == value
    assert made.restore(made.marker("db", "password", "plain")) == SECRET


@pytest.mark.parametrize("text", ["{}", "x {} y", "{{}}: {}"])
def test_a_marker_of_another_execution_is_taken_for_no_value(text: str) -> None:
    text = text.replace("{}", redactor(b"o" * 32).marker("db", "password", "plain"))
    for value in (text, [text], {"a": text}, {text: 1}):
        assert redactor().redact(value) == value
        with pytest.raises(Fault, match=r"\[\[secret:db:password\]\] .* another execution") as refused:
            redactor().restore(value)
        assert refused.value.code == "credential.missing"


def test_a_marker_of_a_server_that_has_no_key_of_the_workers_is_taken_for_no_value() -> None:
    server = Redactor(execution_key(b"s" * 32, "1"), lambda entry, field: None)
    server.learn([("server", "NOETL_TOKEN", SECRET)])
    brought = server.redact({"a": f"x {SECRET} y"})
    assert SECRET not in str(brought)
    with pytest.raises(Fault, match=r"\[\[secret:server:NOETL_TOKEN\]\] .* a server was given for itself") as refused:
        redactor().restore(brought)
    assert refused.value.code == "credential.missing"
    # Handing it on uses nothing of it.
    assert redactor().restore(brought, carries=True) == brought


def test_a_marker_whose_code_is_by_the_key_of_the_execution_alone_is_put_back() -> None:
    """As logs have them that were written before codes had two halves."""
    code = hmac.new(b"k" * 32, b"db:password:plain", "sha256").hexdigest()[:32]
    assert redactor().restore(f"[[secret:db:password:plain:{code}]]") == SECRET
    assert redactor(b"o" * 32).restore(f"[[secret:db:password:plain:{code}]]") != SECRET


def test_a_marker_names_its_entry() -> None:
    hidden = redactor().redact("second-secret")
    assert isinstance(hidden, str) and hidden.startswith("[[secret:a%2Fb%20c:x%3Ay:plain:")
    assert SECRET not in hidden


def test_the_longest_secret_wins() -> None:
    values: dict[str, str] = {"short": "secret-one", "long": "secret-one-and-more"}
    made = Redactor(b"k" * 32, lambda entry, field: values[entry])
    made.learn((entry, "f", value) for entry, value in values.items())
    hidden = made.redact("secret-one-and-more secret-one")
    assert isinstance(hidden, str)
    assert re.findall(r"secret:(\w+)", hidden) == ["long", "short"]
    assert made.restore(hidden) == "secret-one-and-more secret-one"


def test_a_handle_holds_markers_that_open_in_task_fields() -> None:
    made = redactor()
    sealed = made.redact(
        {"h": Handle({HANDLE_KEY: "db", "password": None}), "n": Handle({HANDLE_KEY: "n", "port": None})}
    )
    assert SECRET not in json.dumps(sealed)
    assert made.restore(sealed) == {"h": {HANDLE_KEY: "db", "password": SECRET}, "n": {HANDLE_KEY: "n", "port": 8}}
    assert isinstance(sealed, dict) and isinstance(sealed["h"], dict) and isinstance(sealed["n"], dict)
    assert made.restore(f"Bearer {sealed['h']['password']}:{sealed['n']['port']}") == f"Bearer {SECRET}:8"


def test_a_look_alike_of_a_handle_opens_nothing() -> None:
    made = redactor()
    outside: Json = {HANDLE_KEY: "db", "password": None}
    assert made.redact(outside) == outside
    assert made.restore(outside) == outside


def test_a_secret_that_is_gone_is_a_fault() -> None:
    made = redactor()
    with pytest.raises(Fault, match="no gone") as caught:
        made.restore(["x", made.marker("gone", "f", "plain")])
    assert caught.value.code == "credential.missing"


def test_a_log_line_is_hidden_too() -> None:
    assert "wörd" not in redactor().redact_text(f"password: {SECRET}")


def test_markers_go_over_to_another_execution_and_look_alikes_do_not() -> None:
    one, other, third = redactor(), redactor(b"o" * 32), redactor(b"t" * 32)
    shown: Json = {"a": f"x {SECRET}", "b": [b64encode(utf8(SECRET)).decode(), "plain"]}
    moved = one.moved(one.redact(shown), other)
    assert moved == other.redact(shown) and other.restore(moved) == shown
    forged = "[[secret:db:password:value:" + "0" * 32 + "]]"
    foreign = third.redact(f"y {SECRET}")
    assert one.moved([forged, foreign], other) == [forged, foreign]
