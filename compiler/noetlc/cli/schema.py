"""schema: the JSON Schemas of what is read and written."""

import click

SUBJECTS = ("playbook", "playbook-dialects", "plan", "event", "test", "test-report")


@click.command("schema", short_help="Print a JSON Schema.")
@click.argument("subject", type=click.Choice(SUBJECTS))
def print_schema(subject: str) -> int:
    """Print the JSON Schema of playbooks (canonical, or in all dialects), of plans in JSON, of events, of files of
    tests, or of what `noetl test --json` prints.
    """
    if subject == "plan":
        from noetlc.emit.json import schema_text
    elif subject == "playbook":
        from noetlc.emit.schema import schema_text
    elif subject == "playbook-dialects":
        from noetlc.emit.schema import dialects_text as schema_text
    elif subject == "test-report":
        from noetlc.emit.test_report import schema_text
    elif subject == "test":
        from noetlc.emit.suite import schema_text
    else:
        from noetlc.emit.event import schema_text
    click.echo(schema_text(), nl=False)
    return 0


COMMAND = print_schema
