"""secrets: a handle to a secret that only task fields can open (LANGUAGE §7)."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="secrets",
    summary="Looks up a credential and yields a handle to it; the value itself never enters a result.",
    fields={
        "auth": Field(("text",), doc="The keychain entry or stored credential to look up."),
        "credential": Field(("text",), doc="Another name for `auth`."),
        "secret": Field(("text",), doc="Another name for `auth`."),
        "secret_name": Field(("text",), doc="Another name for `auth`."),
        "key": Field(("text",), doc="The one field of the credential that is wanted; all of them when absent."),
        "provider": Field(("text",), doc="Read from older playbooks; where the secret lies is said in the keychain."),
        "project_id": Field(("text",), doc="Read from older playbooks, as `provider`."),
        "version": Field(("text", "integer"), doc="Read from older playbooks, as `provider`."),
    },
    one_of=(("auth", "credential", "secret", "secret_name"),),
    result="{__secret__, …}: a handle with the credential's fields, which only task fields can open",
)
