"""Canadian and Wisconsin Smear: the game, its contests and the command `tournament`."""
