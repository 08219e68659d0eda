"""The web site: standings, matches, replays and the JSON interface."""
