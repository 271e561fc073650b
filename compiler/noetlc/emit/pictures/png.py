"""Pictures as PNG: the SVG in its light colours, drawn by resvg.

The face is one that the machine has; where it has none, that of the package `font-source-sans-pro`.
"""

from noetlc.emit.pictures.picture import Picture
from noetlc.emit.pictures.svg import document

ZOOM, MOST_SIDE, MOST_PIXELS = 2.0, 30_000.0, 60_000_000.0


class NoRenderer(Exception):
    """The packages that draw PNG are not installed; the text says which."""


def emitted(picture: Picture) -> bytes:
    """The file, twice as large as the SVG where that is not too many pixels; raises NoRenderer."""
    try:
        import font_source_sans_pro  # type: ignore[import-untyped]
        import resvg_py
    except ImportError as missing:
        raise NoRenderer(f"PNG needs the package `{missing.name}`: pip install 'noetlc[pictures]'") from None
    text, size = document(picture, "never")
    # A large net at twice its size would be gigabytes of pixels: sides and area have a limit each.
    zoom = min(ZOOM, MOST_SIDE / max(size), (MOST_PIXELS / (size.width * size.height)) ** 0.5)
    faces = [font_source_sans_pro.font_files_ttf[name] for name in ("SourceSansPro", "SourceSansProBold")]
    return resvg_py.svg_to_bytes(svg_string=text, zoom=zoom, font_files=faces, sans_serif_family="Source Sans Pro")
