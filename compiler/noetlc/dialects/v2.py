"""The canonical form of v2: all of v10, and tasks labelled by a key, `- label: {kind: …}` (canonical-v2
§5.1).
"""

from noetlc.dialects import Dialect
from noetlc.reading import task
from noetlc.reading.reader import Tables

# Only what v10 has not: the tables of both are put together.
DIALECT = Dialect("canonical, v2", Tables(task_forms={"labelled": task.labelled_form}))
