"""`python -m noetl.cli`: the console script `noetl`, for callers that know only the interpreter."""

import sys

from noetl.cli import main

sys.exit(main())
