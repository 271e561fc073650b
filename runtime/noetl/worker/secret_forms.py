"""The texts that a secret is found as: as it is, and as programs write texts.

Each form has a name, by which the very text comes again that stood there. Base64 has three forms beside the whole: the
part that a secret alone decides when it begins at byte 0, 1 or 2 of a group of three, which finds it inside something
larger (`user:password`).
"""

import re
from binascii import b2a_base64
from functools import lru_cache

from noetl_ir.secret_fields import SHORTEST


@lru_cache(maxsize=4)
def forms_of_all(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """The texts that some secrets are found as; none of one under 8 characters."""
    return tuple({form for secret in secrets for form in forms_of(secret).values()})


def forms_of(value: str) -> dict[str, str]:
    """The texts that a secret is found as, by the name of their form; none for a value under 8 characters."""
    # A short secret such as `true` or `1` stands in half of all texts: hiding it would spoil results, and tell by the
    # markers where it is.
    if len(value) < SHORTEST:
        return {}
    # A secret may hold half of a surrogate pair, from JSON, and must be found nonetheless.
    data = value.encode("utf-8", "surrogatepass")
    coded = {"hex": data.hex(), "hexu": data.hex().upper(), **_base64_forms(data)}
    # Most secrets are words that every encoder leaves as they are.
    written = {} if _WORDS.fullmatch(value) else {**_escaped(value, data), **_percent(data)}
    found: dict[str, str] = {}
    taken = set()
    for name, text in {"plain": value, **written, **coded, **_lines(value)}.items():
        # Most forms of a plain secret are the same text; the first name is kept, since any of them gives that text
        # back.
        if text not in taken and len(text) >= SHORTEST:
            taken.add(text)
            found[name] = text
    return found


def _escaped(value: str, data: bytes) -> dict[str, str]:
    """As programs write it between quotes, in JSON, Python, HTML and XML, for a shell, in SQL, YAML and CSV."""
    from json import dumps

    json, jsonu = dumps(value)[1:-1], dumps(value, ensure_ascii=False)[1:-1]
    xml = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    html = xml.replace('"', "&quot;").replace("'", "&#x27;")
    return {
        "json": json, "jsonu": jsonu, "py": repr(value)[1:-1], "pyb": repr(data)[2:-1],
        # PHP escapes the slash, Go what HTML would take for its own, and JSON within JSON is escaped twice.
        "jsons": json.replace("/", "\\/"), "jsonus": jsonu.replace("/", "\\/"),
        "jsonh": "".join(_GO.get(char, char) for char in jsonu), "json2": dumps(json)[1:-1],
        "jsonu2": dumps(jsonu, ensure_ascii=False)[1:-1],
        "html": html, "htmln": html.replace("&quot;", "&#34;").replace("&#x27;", "&#39;"),
        "htmlq": html.replace("&#x27;", "'"), "htmld": html.replace("&#x27;", "&#39;"), "xml": xml,
        "xmla": html.replace("&#x27;", "&apos;"), "xmlp": xml.replace("'", "&apos;"),
        "sh": value.replace("'", "'\"'\"'"), "shb": value.replace("'", "'\\''"),
        "sq": value.replace("'", "''"), "dq": value.replace('"', '""'),
    }  # fmt: skip


_GO = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def _percent(data: bytes) -> dict[str, str]:
    """Percent-encoded, by what each way of it leaves as it is, with hexadecimal digits of either case."""
    from urllib.parse import quote, quote_plus

    found = {"url": quote(data, safe=""), "urlpath": quote(data), "form": quote_plus(data)}
    found |= {name: quote(data, safe=safe) for name, safe in _SAFE.items()}
    # Java, and what browsers send of forms: `*` stays, and `~` does not.
    found["formj"] = quote_plus(data, safe="*").replace("~", "%7E")
    lower = {f"{name}l": _PERCENT.sub(lambda hit: hit[0].lower(), text) for name, text in found.items()}
    return found | lower


_SUB = "!$&'()+*,;=:@"
_SAFE = {
    "urlseg": _SUB, "urlsegs": f"{_SUB}/", "urljs": "!'()*", "urlall": f"{_SUB}/?#",
    "urlw": f"{_SUB}/%|^\\[]", "urlq": f"{_SUB}/%|^\\[]?{{}}`", "urlqs": "!$()+*,;=:@&/%|^\\[]?{}`",
}  # fmt: skip
"""The characters that stay: of a segment and a path (RFC 3986), by `encodeURIComponent` and `encodeURI` of JavaScript,
and of an address that is only mended, its path and its query (WHATWG URL, as browsers and HTTP clients do)."""

_WORDS = re.compile(r"[A-Za-z0-9_.-]+")
_WORD = 31
"""Characters of the shortest line of a secret that is hidden by itself: lines of keys have more."""


def _lines(value: str) -> dict[str, str]:
    """The long words among the lines of a key or certificate, which may be shown one by one."""
    lines = value.splitlines()
    words = {f"line{number}": line.strip() for number, line in enumerate(lines)} if len(lines) > 1 else {}
    # Its first and last line name what it is, and are the same in every key.
    return {name: word for name, word in words.items() if len(word) >= _WORD and _is_code(word)}


def _is_code(line: str) -> bool:
    return len(line.split()) == 1 and line[0] != "-"


_PERCENT = re.compile(r"%[0-9A-F]{2}")


def _base64_forms(data: bytes) -> dict[str, str]:
    """Base64 with and without padding, and the inner part at each of three offsets, in both alphabets."""
    whole = b2a_base64(data, newline=False).decode("ascii")
    found = {"b64": whole, "b64n": whole.rstrip("=")}
    for offset in range(3):
        # Only the characters whose six bits are all of the secret are fixed. Those at both ends share bits with what
        # stands around it.
        first, last = -(-offset * 8 // 6), (offset + len(data)) * 8 // 6
        found[f"b64i{offset}"] = b2a_base64(b"\0" * offset + data, newline=False).decode("ascii")[first:last]
    safe = str.maketrans("+/", "-_")
    return found | {f"{name}s": text.translate(safe) for name, text in found.items()}
