"""Pictures as SVG: one file, nothing outside it, light or dark as the reader's system is."""

from noetlc.emit.pictures.boxes import body_of
from noetlc.emit.pictures.drawing import drawing_of
from noetlc.emit.pictures.legend import legend_of
from noetlc.emit.pictures.metrics import bold_width_of, width_of, wrapped
from noetlc.emit.pictures.picture import Picture
from noetlc.emit.pictures.shapes import Size
from noetlc.emit.pictures.style import LINE, MARGIN, TEXT, sheet
from noetlc.emit.pictures.xml import escaped_xml, number

HEAD, HEADING = 34.0, 16.0
MAX_CAPTIONS, CAPTION = 30, 100


def emitted(picture: Picture) -> str:
    """The whole file."""
    return document(picture, "media")[0]


def document(picture: Picture, dark: str) -> tuple[str, Size]:
    """The whole file, and how large it is; `dark` as in `style.sheet`."""
    drawing, legend, below = drawing_of(picture), legend_of(picture), captions_of(picture)
    size = drawing.layout.size
    texts = [bold_width_of(picture.title, HEADING), *(width_of(line, TEXT) for line in below)]
    width = max(size.width, legend.width, *texts) + 2 * MARGIN
    foot = HEAD + 2 * MARGIN + size.height
    height = foot + legend.height + LINE * len(below) + MARGIN
    sides = f'width="{width:.0f}" height="{height:.0f}"'
    out = [
        # Whole in itself: viewers of files load nothing, and pages that show one may forbid it.
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" {sides} viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        f"<title>{escaped_xml(picture.title)}</title>",
        f"<style>{sheet(dark)}</style>",
        f'<rect class="page" {sides}/>',
        f'<text class="h" x="{MARGIN:g}" y="{HEAD:g}">{escaped_xml(picture.title)}</text>',
        f'<g transform="translate({number((width - size.width) / 2)} {number(HEAD + MARGIN)})">',
        *body_of(drawing),
        "</g>",
        f'<g transform="translate({MARGIN:g} {number(foot)})">',
        *legend.marks,
        "</g>",
    ]
    for row, line in enumerate(below, 1):
        y = number(foot + legend.height + LINE * row)
        out.append(f'<text x="{MARGIN:g}" y="{y}">{escaped_xml(line)}</text>')
    return "\n".join([*out, "</svg>", ""]), Size(width, height)


def captions_of(picture: Picture) -> list[str]:
    """The lines under a picture, those in the middle left out where there are many."""
    lines = [line for caption in picture.captions for line in wrapped(caption, CAPTION, 3)]
    if len(lines) > MAX_CAPTIONS:
        # The first lines say what is asked, the last ones how a run ends.
        half = MAX_CAPTIONS // 2
        lines = [*lines[:half], f"… {len(lines) - 2 * half} more lines …", *lines[-half:]]
    return lines
