"""Words of numbers, for whatever a person reads."""


def counted(count: int, noun: str) -> str:
    """Returns a number of things.

    >>> counted(1, "match"), counted(2, "match"), counted(0, "job")
    ('1 match', '2 matches', '0 jobs')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{'es' if noun.endswith('ch') else 's'}"
