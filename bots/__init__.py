"""The house bots, from the smallest to one that is hard to beat."""
