"""Invented secrets for a case that is made: one for each that its playbook reads, in the place of the markers, too.

A recorded execution has markers where its secrets were. In a test nobody can put back what these stand for; with an
invented secret in the place of each, in whatever form it was written, the case runs as the execution did.
"""

from __future__ import annotations

from collections.abc import Iterable

from noetl.worker.redaction import with_markers_as
from noetl.worker.secret_forms import forms_of
from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetl_ir.plan_family import family_of
from noetl_ir.plan_format import read_plan
from noetl_ir.plan_secrets import secrets_named
from noetl_ir.suite import Suite


class InventedSecrets:
    """The secrets of one case: `keychain` has the fields of each entry."""

    def __init__(self, plan: Plan) -> None:
        family = tuple(family_of(plan))
        named = secrets_named(family)
        declared = {entry.name for each in family for entry in each.keychain}
        self.keychain: dict[str, dict[str, Json]] = {
            name: {field: _invented(name, field) for field in fields or (named.single[name],)}
            for name, fields in named.fields.items()
            if fields or name in declared
        }

    def instead_of_markers(self, value: Json) -> Json:
        """The value with invented secrets where markers are, which the keychain has from now on."""
        return with_markers_as(value, self._text)

    def _text(self, entry: str, field: str, form: str) -> str:
        fields = self.keychain.setdefault(entry, {})
        # The password in an address stands under a name that no field has; a nested field is a path.
        plain = _put(fields, field.removesuffix(_PASSWORD).split("/"), _invented(entry, field))
        return forms_of(plain).get(form, plain)


def with_invented(suite: Suite) -> Suite:
    """A suite whose cases have a secret for each that the playbook reads."""
    keychain = InventedSecrets(read_plan(suite.plan)).keychain
    return suite._replace(cases=tuple(case._replace(keychain=keychain) for case in suite.cases))


_PASSWORD = "#password"


def _put(fields: dict[str, Json], path: Iterable[str], value: str) -> str:
    """The text at a path, put there where there is none."""
    *outer, last = path
    for key in outer:
        inner = fields.setdefault(key, {})
        if not isinstance(inner, dict):
            return value
        fields = inner
    found = fields.setdefault(last, value)
    return found if isinstance(found, str) else value


def _invented(entry: str, field: str) -> str:
    return f"invented {entry} {field}"
