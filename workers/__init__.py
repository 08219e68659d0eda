"""Everything that plays matches: the sandbox, the referee, local and distributed executors."""
