"""explain: the page of a diagnostic code."""

import click

from noetlc.diag.codes import CODES, explanation
from noetlc.rules import all_rules, page_of


@click.command("explain", short_help="Explain a diagnostic code.")
@click.argument("code", metavar="CODE")
def explain_code(code: str) -> int:
    """Explain a diagnostic code: why it matters, an example, and what to write instead.

    CODE is a number like NL203 or a name like unknown-step.
    """
    page = explanation(code) or page_of(code)
    if not page:
        from difflib import get_close_matches

        known = [*CODES, *(entry.slug for entry in CODES.values())]
        known += [word for slug, rule in all_rules() for word in (rule.code, slug)]
        near = get_close_matches(code.upper(), known, 3) or get_close_matches(code.lower(), known, 3)
        hint = f"; there is {', '.join(near)}" if near else ""
        raise click.UsageError(f"there is no code {code!r}{hint}")
    click.echo(page, nl=False)
    return 0


COMMAND = explain_code
