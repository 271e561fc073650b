"""How pictures look: sizes, colours, and the style sheet of SVG and HTML.

Colours are those of M. Okabe and K. Ito, which colour-blind people can tell apart; nothing is said by colour alone:
arrows of failures are dashed, those that empty or ask dash-dotted and dotted, runs are thick and numbered, boxes that
are marked have a sign.
"""

from noetlc.emit.pictures.picture import Paint, Shape

TITLE, TEXT = 13.0, 11.0
LINE = 15.0
MARGIN = 24.0
FONTS = "'Helvetica Neue',Arial,'DejaVu Sans','Source Sans Pro',sans-serif"

SIGNS = {
    Paint.DONE: "M-5 0L-1.5 4L5 -4.5",
    Paint.PARTLY: "M-5 0L5 0",
    Paint.CANCELLED: "M-4.5 0L4.5 0",
    Paint.WAITING: "M-4 -5L4 -5L-4 5L4 5Z",
    Paint.RUNNING: "M-3.5 -4.5L4.5 0L-3.5 4.5Z",
    Paint.FAILED: "M-4 -4L4 4M-4 4L4 -4",
    Paint.BAD: "M-4 -4L4 4M-4 4L4 -4",
    Paint.WARNED: "M0 -5.5L0 1M0 5L0 5",
    Paint.TOLD: "",
    Paint.IDLE: "",
    Paint.NONE: "",
}
"""Strokes round the middle of a sign: not every face has such characters."""

MEANINGS = {
    Paint.DONE: "done",
    Paint.PARTLY: "reached, but not all of it",
    Paint.CANCELLED: "cancelled, or cut off by the end",
    Paint.WAITING: "waiting",
    Paint.RUNNING: "running",
    Paint.FAILED: "failed",
    Paint.IDLE: "did not run",
    Paint.TOLD: "the run, or another place of a finding",
    Paint.BAD: "refuted, or an error",
    Paint.WARNED: "a warning",
}

SHAPES = {
    Shape.ENTRY: "first step",
    Shape.STEP: "step",
    Shape.LOOP: "step with a loop",
    Shape.END: "end",
    Shape.TASK: "task",
    Shape.PLACE: "place",
    Shape.TRANSITION: "transition",
    Shape.STATE: "state",
    Shape.FOLD: "several, folded",
}

_LIGHT = {
    "page": "#ffffff", "box": "#f7f9fb", "edge": "#5b6b7b", "text": "#1b2733", "dim": "#54616e", "ko": "#b34700",
    "entry": "#e3eef9", "loop": "#f1eafa", "fold": "#eef1f4", "inner": "#ffffff", "told": "#0072b2", "done": "#007a59",
    "running": "#0b84c6", "bad": "#c04a00", "warned": "#a86f00", "idle": "#a3adb7", "donebox": "#e2f4ee",
    "runningbox": "#e0f2fd", "badbox": "#fde8dc", "warnedbox": "#fff3d6", "cancelled": "#56636f",
    "cancelledbox": "#e9edf1", "waiting": "#8a5a00", "waitingbox": "#fff0cc", "toldbox": "#dcedf8", "line": "#c3ccd5",
}  # fmt: skip
_DARK = {
    "page": "#14191f", "box": "#1f2730", "edge": "#9aa8b6", "text": "#e8edf2", "dim": "#aab5c0", "ko": "#ff9a5c",
    "entry": "#1f3247", "loop": "#2e2840", "fold": "#262e37", "inner": "#171d24", "told": "#5cb8f0", "done": "#3fcf9f",
    "running": "#56b4e9", "bad": "#ff8a47", "warned": "#f0b429", "idle": "#5a6672", "donebox": "#14332a",
    "runningbox": "#15303f", "badbox": "#40230f", "warnedbox": "#3a2d0c", "cancelled": "#aab5c0",
    "cancelledbox": "#262e37", "waiting": "#f3c04b", "waitingbox": "#3a2d0c", "toldbox": "#15324a", "line": "#3b4754",
}  # fmt: skip


def sheet(dark: str) -> str:
    """The style sheet.

    `dark` says when the dark colours hold: `media` where the reader's system asks for them, `never`.
    """
    # A PNG is for one background: its reader's system is not there to be asked when it is drawn.
    if dark == "never":
        return _rules(_LIGHT)
    return f"{_rules(_LIGHT)}@media (prefers-color-scheme: dark){{{_rules(_DARK)}}}"


def _rules(c: dict[str, str]) -> str:
    rows = [
        f".page{{fill:{c['page']}}}",
        f"text{{font-family:{FONTS};font-size:{TEXT:g}px;fill:{c['dim']}}}",
        f".t{{font-size:{TITLE:g}px;font-weight:bold;fill:{c['text']}}}",
        f".h{{font-size:16px;font-weight:bold;fill:{c['text']}}}",
        f".f{{font-weight:bold;fill:{c['text']}}}",
        f".b{{fill:{c['box']};stroke:{c['edge']};stroke-width:1.2}}",
        f".entry>.b{{fill:{c['entry']};stroke-width:2.2}}",
        f".loop>.b{{fill:{c['loop']}}}",
        f".fold>.b{{fill:{c['fold']};stroke-dasharray:5 3}}",
        f".task>.b{{fill:{c['inner']};stroke:{c['line']}}}.inner{{fill:{c['page']};stroke:none}}",
        f".bar{{fill:{c['edge']};stroke:none}}",
        f".e{{fill:none;stroke:{c['edge']};stroke-width:1.3}}",
        f".a{{fill:{c['edge']};stroke:none}}",
        f".ko>.e{{stroke:{c['ko']};stroke-dasharray:6 4}}.ko>.a{{fill:{c['ko']}}}.ko text{{fill:{c['ko']}}}",
        ".jump>.e{stroke-dasharray:2 3}.reset>.e{stroke-dasharray:9 3 2 3}.test>.e{stroke-dasharray:1 4}",
        f".reset>.e,.test>.e{{stroke:{c['told']}}}.reset>.a,.test>.a{{fill:{c['told']}}}",
        f".l{{fill:{c['page']};stroke:none;opacity:.9}}",
        f".idle>.b{{stroke:{c['idle']};fill:{c['page']}}}.idle>text{{fill:{c['idle']}}}",
        f".idle>.e{{stroke:{c['idle']};opacity:.6}}.idle>.a{{fill:{c['idle']}}}",
    ]
    for mark, color, box in (
        ("told", "told", "toldbox"),
        ("done", "done", "donebox"),
        ("partly", "warned", "warnedbox"),
        ("cancelled", "cancelled", "cancelledbox"),
        ("waiting", "waiting", "waitingbox"),
        ("running", "running", "runningbox"),
        ("failed", "bad", "badbox"),
        ("warned", "warned", "warnedbox"),
        ("bad", "bad", "badbox"),
    ):
        rows.append(f".{mark}>.b{{stroke:{c[color]};fill:{c[box]};stroke-width:2.4}}")
        rows.append(f".{mark}>.e{{stroke:{c[color]};stroke-width:2.6}}.{mark}>.a{{fill:{c[color]}}}")
        rows.append(
            f".{mark}>.s{{fill:none;stroke:{c[color]};stroke-width:2.2;stroke-linecap:round;stroke-linejoin:round}}"
        )
    return "".join(rows)
