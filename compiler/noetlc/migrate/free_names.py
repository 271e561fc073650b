"""Names that nothing declares: older engines looked for them in the payload, canonical source says so.

url: "{{ api_url }}"    →    url: "{{ workload.api_url }}"
"""

from re import compile as pattern
from re import escape

from noetlc.diag.change import Change
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic
from noetlc.pipeline import Compiled
from noetlc.source.text import Source

_WORD = pattern(r"there is no `([A-Za-z_]\w*)`")


def written_out(compiled: Compiled) -> tuple[str, tuple[Change, ...], tuple[Diagnostic, ...]]:
    """The text with every free name written as a key of the workload, what was changed, and where that cannot be."""
    source, text = compiled.source, compiled.source.text
    free = [found for found in compiled.diagnostics if found.code == "NL303"]
    places: dict[int, Change] = {}
    refused: list[Diagnostic] = []
    for found in free:
        word = _WORD.fullmatch(found.message)
        start = None if word is None else _only_place(source, found, word[1])
        if word is None or start is None:
            refused.append(finding("NL904", found.message, found.span, help=found.help))
        else:
            construct, became = f"`{word[1]}`, which nothing declares", f"`workload.{word[1]}`, a key of the payload"
            places[start] = Change("migrate", found.span, construct, "review", became)
    parts, at = [], 0
    for start in sorted(places):
        parts += [text[at:start], "workload."]
        at = start
    return "".join([*parts, text[at:]]), tuple(places.values()), tuple(refused)


def _only_place(source: Source, found: Diagnostic, word: str) -> int | None:
    """Where the name stands in what the finding is about; None where it is not certain."""
    start, end = source.offset_of(*found.span[:2]), source.offset_of(*found.span[2:])
    places = pattern(rf"""(?<![\w.'"-]){escape(word)}(?![\w'"-]|\s*[(:]|\s*=[^=])""").finditer(source.text, start, end)
    offsets = [place.start() for place in places]
    return offsets[0] if len(offsets) == 1 else None
