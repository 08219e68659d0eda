"""Everything that plays matches: the sandbox, the referee, local and distributed executors."""

import tournament  # noqa: F401  # decides whether the modules here are imported compiled
