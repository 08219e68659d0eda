"""The sandbox: one locked-down process for one seat of one game, and the referee's side of it."""
