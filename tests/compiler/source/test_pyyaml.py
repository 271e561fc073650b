"""PyYAML as we import it: in a process of its own, since tests import it themselves."""

import subprocess
import sys

SCRIPT = """
import re
compiled = re.compile
from noetlc.source.pyyaml import yaml
assert re.compile is compiled
late = [p for rows in yaml.SafeLoader.yaml_implicit_resolvers.values() for _, p in rows]
late.append(yaml.reader.Reader.NON_PRINTABLE)
assert not any(isinstance(p, re.Pattern) for p in late), "compiled at the start"
assert all(p.pattern and isinstance(p.groups, int) for p in late)
text = "a: [1, 0x1f, 1.5, yes, null, 2001-12-14, 190:20:30]\\nb: !!str 1\\n<<: {c: ~}\\n"
print(yaml.load(text, Loader=yaml.SafeLoader))
print([type(event).__name__ for event in yaml.parse(text, Loader=yaml.BaseLoader)][:4])
try:
    yaml.load("a: \\x01", Loader=yaml.SafeLoader)
except yaml.reader.ReaderError as error:
    print(error.position, error.reason)
"""


def test_it_reads_as_ever_also_without_libyaml() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "{'c': None, 'a': [1, 31, 1.5, True, None, datetime.date(2001, 12, 14), 685230], 'b': '1'}",
        "['StreamStartEvent', 'DocumentStartEvent', 'MappingStartEvent', 'ScalarEvent']",
        "3 special characters are not allowed",
    ]
