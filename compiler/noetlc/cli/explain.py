"""explain: the page of a diagnostic code, or the list of all codes."""

import click

from noetlc.diag.selection import unselectable
from noetlc.rules import every_code, page_of


@click.command("explain", short_help="Explain a diagnostic code.")
@click.argument("code", metavar="[CODE]", required=False)
def explain_code(code: str | None) -> int:
    """Explain a diagnostic code: why it matters, an example, and what to write instead.

    CODE is a number like NL203 or a name like unknown-step, or the code of an error of runs like http.status. Without
    one, all codes of findings are listed.
    """
    if code is None:
        click.echo(_listed(), nl=False)
        return 0
    page = page_of(code) or _page_of_error(code)
    if not page:
        slugs = {number: entry.slug for number, entry in every_code().items()}
        raise click.UsageError(str(unselectable(code, slugs)))
    click.echo(page, nl=False)
    return 0


COMMAND = explain_code


def _page_of_error(code: str) -> str:
    """The page of the code of an error of runs; "" where it is none."""
    from noetl_ir.error_codes import ERRORS, OF_ANY_KIND, OF_STEPS
    from noetlc.generated.error_codes import CODES_OF_KIND

    if code not in ERRORS:
        return ""
    kinds = [kind for kind, codes in CODES_OF_KIND.items() if code in codes]
    if kinds:
        who = f"Tasks of these kinds may have it: {', '.join(kinds)}."
    else:
        who = {True: "Tasks of any kind may have it.", False: "A step may fail with it."}[code in OF_ANY_KIND]
    where = (
        "`event.error.code` on arcs"
        if code in OF_STEPS
        else "`outcome.error.code` in rules, `event.error.code` on arcs"
    )
    return f"{code} (error of a run)\n\n{ERRORS[code]}\n\n{who} It is {where}.\n"


def _listed() -> str:
    """A line for each code: number, name, severity, title."""
    codes = every_code()
    width = max(len(entry.slug) for entry in codes.values())
    rows = [f"{code}  {entry.slug:<{width}}  {entry.severity!s:<7}  {entry.title}" for code, entry in codes.items()]
    return "\n".join(rows) + "\n"
