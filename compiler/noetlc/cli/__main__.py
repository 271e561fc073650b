"""`python -m noetlc.cli`: the console script `noetlc`, for callers that know only the interpreter."""

import sys

from noetlc.cli import main

sys.exit(main())
