"""fail: ends in an error of the author's own, and never in a success (EXTENSIONS §6)."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="fail",
    summary="Fails with a code and a message of your own; it never succeeds.",
    fields={
        "code": Field(("text",), required=True, doc="The code of the error, a word that guards may ask for."),
        "message": Field(("text",), doc="What the error says to a reader; that the playbook fails here when absent."),
    },
    result="none: the outcome is an error, which the rules of the task are asked about",
    # Nothing happens outside: it may be told as started and done in one go, and runs under a script as it is.
    pure=True,
)
