"""YAML as editors and the compiler read it, where PyYAML reads YAML 1.1: `on` and `off` are texts, no truth values."""

import yaml


class Loader(yaml.SafeLoader):
    """PyYAML's loader of plain data, but for `on` and `off`: a key of the language is called so."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, known) for tag, known in rows if not (tag.endswith(":bool") and first in "oO")]
    for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
