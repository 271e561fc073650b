"""Diagnostics as text: place, code and message, the lines that they are about, and what to write instead."""

from noetl_cli.excerpts import PLAIN, Lines, Palette, edge, excerpt, place_of, printable, replaced_lines
from noetlc.diag.diagnostic import Diagnostic, Severity


def one_line(diagnostic: Diagnostic, file: Lines, palette: Palette = PLAIN) -> str:
    """`file:line:column: error[NL003] message`, without a line break at the end."""
    place = place_of(file.name, diagnostic.span)
    kind = f"{_colour_of(diagnostic.severity, palette)}{diagnostic.severity}[{diagnostic.code}]{palette.reset}"
    return f"{palette.strong}{place}:{palette.reset} {kind} {printable(diagnostic.message)}"


def rendered(diagnostic: Diagnostic, file: Lines, palette: Palette = PLAIN) -> str:
    """The whole diagnostic with its lines, related places, help and fix; ends in a line break."""
    spans = [diagnostic.span, *(item.span for item in diagnostic.related)]
    # One width for all excerpts of a finding, so that its bars stand under each other.
    gutter = len(str(max(span.end_line for span in spans)))
    out = [one_line(diagnostic, file, palette)]
    out += excerpt(diagnostic.span, file, gutter, _colour_of(diagnostic.severity, palette), palette)
    for item in diagnostic.related:
        place = place_of(file.name, item.span)
        out.append(f"{edge(gutter, '=', palette)} {place}: {printable(item.message)}")
        out += excerpt(item.span, file, gutter, palette.faint, palette)
    if diagnostic.help:
        out.append(f"{edge(gutter, '=', palette)} help: {printable(diagnostic.help)}")
    if diagnostic.fix is not None:
        fix = diagnostic.fix
        title = printable(fix.title) + ("" if fix.safe else " (may change the meaning)")
        out.append(f"{edge(gutter, '=', palette)} fix: {title}")
        is_near = not fix.rest and fix.span.end_line <= fix.span.line + 1  # a whole file is no excerpt
        changed = replaced_lines(fix.span, fix.text, file, gutter, palette) if is_near else ()
        out += [f"{edge(gutter, '+', palette)} {line}" for line in changed]
    return "\n".join(out) + "\n"


def _colour_of(severity: Severity, palette: Palette) -> str:
    """The sequence that begins a severity."""
    return (palette.note, palette.warning, palette.error)[severity - 1]
