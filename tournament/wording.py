"""Words of numbers, for whatever a person reads."""


def counted(count: int, noun: str) -> str:
    """Returns a number of things.

    >>> counted(1, "match"), counted(2, "match"), counted(0, "job")
    ('1 match', '2 matches', '0 jobs')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{'es' if noun.endswith('ch') else 's'}"


def duration(seconds: float) -> str:
    """Returns a time as people say it.

    >>> duration(0.2), duration(200), duration(9000)
    ('1 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
