"""explain: the page of a diagnostic code, or the list of all codes."""

import click

from noetlc.diag.selection import unselectable
from noetlc.rules import every_code, page_of


@click.command("explain", short_help="Explain a diagnostic code.")
@click.argument("code", metavar="[CODE]", required=False)
def explain_code(code: str | None) -> int:
    """Explain a diagnostic code: why it matters, an example, and what to write instead.

    CODE is a number like NL203 or a name like unknown-step. Without one, all codes are listed.
    """
    if code is None:
        click.echo(_listed(), nl=False)
        return 0
    page = page_of(code)
    if not page:
        slugs = {number: entry.slug for number, entry in every_code().items()}
        raise click.UsageError(str(unselectable(code, slugs)))
    click.echo(page, nl=False)
    return 0


COMMAND = explain_code


def _listed() -> str:
    """A line for each code: number, name, severity, title."""
    codes = every_code()
    width = max(len(entry.slug) for entry in codes.values())
    rows = [f"{code}  {entry.slug:<{width}}  {entry.severity!s:<7}  {entry.title}" for code, entry in codes.items()]
    return "\n".join(rows) + "\n"
