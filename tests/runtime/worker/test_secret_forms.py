"""A secret as other programs write it: each text is made by the library, or by hand as a manual says, is hidden as a
whole, and comes back as it was.
"""

import csv
import html
import io
import json
import shlex
from collections.abc import Callable
from xml.sax.saxutils import escape, quoteattr

import httpx
import pytest
import yaml
from markupsafe import escape as markup

from noetl.worker.redaction import Redactor
from noetl_ir.expr import Json

SECRET = "pa ss!w:(1)*@x&y=z;,$'\"<>?/+|{}^`\\[]~é"
KEY = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(f"{n}" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC/+=" for n in range(3))
KEY += "\nshort==\n-----END PRIVATE KEY-----\n"


def redactor(secret: str) -> Redactor:
    def opened(entry: str, field: str) -> Json:
        return secret

    made = Redactor(b"k" * 32, opened, b"s" * 32)
    made.learn([("e", "f", secret)])
    return made


def as_csv(text: str) -> str:
    said = io.StringIO()
    csv.writer(said, quoting=csv.QUOTE_ALL).writerow([text])
    return said.getvalue()


WRITERS: dict[str, Callable[[str], str]] = {
    "html": html.escape,
    "jinja": lambda text: str(markup(text)),
    "xml": escape,
    "xml attribute": lambda text: quoteattr(text, {"'": "&apos;"}),
    "shell": shlex.quote,
    "shell by hand": lambda text: "'" + text.replace("'", "'\\''") + "'",
    "sql": lambda text: "select '" + text.replace("'", "''") + "'",
    "yaml": lambda text: yaml.dump(text, default_style="'", width=9999, allow_unicode=True),
    "csv": as_csv,
    "json in json": lambda text: json.dumps(json.dumps({"a": text})),
    "json in json, not ascii": lambda text: json.dumps(json.dumps([text], ensure_ascii=False), ensure_ascii=False),
    "address": lambda text: str(httpx.URL("https://h.example/a/" + text.replace("?", ""))),
    "query": lambda text: str(httpx.URL("https://h.example/a?k=" + text)),
    "params": lambda text: str(httpx.URL("https://h.example/a", params={"k": text})),
}


@pytest.mark.parametrize("name", WRITERS)
def test_as_a_library_writes_it(name: str) -> None:
    secret = SECRET.replace("?", "") if name == "address" else SECRET
    made, text = redactor(secret), WRITERS[name](secret)
    hidden = str(made.redact(f"before {text} behind"))
    assert "pa" not in hidden.replace("[[secret:e:f:", "") and "x&y" not in hidden and hidden.count("[[secret:") == 1
    assert made.restore(hidden) == f"before {text} behind"


BY_HAND = {
    # encodeURIComponent and encodeURI, as in ECMA-262 §19.2.6.
    "pa%20ss!w%3A(1)*%40x%26y%3Dz%3B%2C%24'%22%3C%3E%3F%2F%2B%7C%7B%7D%5E%60%5C%5B%5D~%C3%A9": "encodeURIComponent",
    "pa%20ss!w:(1)*@x&y=z;,$'%22%3C%3E?/+%7C%7B%7D%5E%60%5C%5B%5D~%C3%A9": "encodeURI",
    # A segment of RFC 3986: its characters, sub-delims, `:` and `@` stay.
    "pa%20ss!w:(1)*@x&y=z;,$'%22%3C%3E%3F%2F+%7C%7B%7D%5E%60%5C%5B%5D~%C3%A9": "segment",
    "pa%20ss!w:(1)*@x&y=z;,$'%22%3c%3e%3f%2f+%7c%7b%7d%5e%60%5c%5b%5d~%c3%a9": "segment, digits in lower case",
    # java.net.URLEncoder: letters, digits, `.-*_` stay, a space is `+`.
    "pa+ss%21w%3A%281%29*%40x%26y%3Dz%3B%2C%24%27%22%3C%3E%3F%2F%2B%7C%7B%7D%5E%60%5C%5B%5D%7E%C3%A9": "java",
    # json_encode of PHP escapes the slash; encoding/json of Go escapes &, < and >.
    "pa ss!w:(1)*@x&y=z;,$'\\\"<>?\\/+|{}^`\\\\[]~\\u00e9": "php",
    "pa ss!w:(1)*@x\\u0026y=z;,$'\\\"\\u003c\\u003e?/+|{}^`\\\\[]~é": "go",
}


@pytest.mark.parametrize("text", BY_HAND, ids=BY_HAND.values())
def test_as_a_manual_says(text: str) -> None:
    made = redactor(SECRET)
    hidden = str(made.redact(f"k={text}&"))
    assert hidden.startswith("k=[[secret:e:f:") and hidden.endswith("]]&") and hidden.count("[[secret:") == 1
    assert made.restore(hidden) == f"k={text}&"


def test_a_key_line_by_line() -> None:
    made = redactor(KEY)
    for text in ("\n".join(f"  {line}" for line in KEY.splitlines()), KEY.replace("\n", "\r\n"), KEY.splitlines()[2]):
        hidden = str(made.redact(text))
        assert "MIIEvQ" not in hidden and made.restore(hidden) == text
    assert made.redact("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----", "which every key has"
    assert str(made.redact(KEY)).count("[[secret:") == 1, "as a whole where it stands as a whole"


def test_a_line_of_words_is_no_secret_by_itself() -> None:
    made = redactor("a sentence of several words, which is long\nand another one that is long, too\n")
    text = "a sentence of several words, which is long"
    assert made.redact(text) == text
