"""The site of a tournament: pages, API and live stream over the store."""
