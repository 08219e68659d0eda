"""Tokens, session keys and codes: what they look like, what of them is stored, and the names people go by.

A token is ``smr_``, 8 characters of id, ``_`` and 32 random bytes: random enough that a plain SHA-256 of it can be
stored. Codes are for people to type: 16 letters and digits of an alphabet without look-alikes, 80 bits.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

Entropy = Callable[[int], bytes]
"""Returns so many random bytes: `os.urandom`, or a test's own."""

NAME_LENGTH: Final = 60
_LOOK_ALIKE: Final = {"LATIN", "GREEK", "CYRILLIC"}
_CODE_ALPHABET: Final = "abcdefghjkmnpqrstuvwxyz23456789x"  # 32 letters; x twice does no harm
_TOKEN: Final = re.compile(r"smr_([a-z2-7]{8})_([A-Za-z0-9_-]{43})")


class Scope(StrEnum):
    """What a token may be used for."""

    READ = "read"
    SUBMIT = "submit"
    ORGANISE = "organise"


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token just made: `text` is shown once, `id` and `hash` are stored."""

    text: str
    id: str
    hash: str


def new_token(entropy: Entropy) -> NewToken:
    """Makes a token."""
    token_id = base64.b32encode(entropy(5)).decode().lower()
    text = f"smr_{token_id}_{base64.urlsafe_b64encode(entropy(32)).decode().rstrip('=')}"
    return NewToken(text, token_id, hashed(text))


def token_id(text: str) -> str | None:
    """Returns the public part of a token, None for what is none.

    >>> token_id("smr_abcdefgh_" + 43 * "x"), token_id("hello")
    ('abcdefgh', None)
    """
    found = _TOKEN.fullmatch(text.strip())
    return found[1] if found else None


def new_key(entropy: Entropy) -> str:
    """Makes the key of a session, or of its forms."""
    return base64.urlsafe_b64encode(entropy(32)).decode().rstrip("=")


def new_code(entropy: Entropy) -> str:
    """Makes a code for people: four groups of four.

    >>> new_code(bytes)
    'aaaa-aaaa-aaaa-aaaa'
    """
    letters = "".join(_CODE_ALPHABET[byte % 32] for byte in entropy(16))
    return "-".join(letters[place : place + 4] for place in range(0, 16, 4))


def code_of(text: str) -> str:
    """Returns a code as it is hashed: without what people add when they type, and from a whole link its last part.

    >>> code_of(" https://host/join/ABCD-efgh-2345-6789 ")
    'abcdefgh23456789'
    """
    return re.sub(r"[^a-z0-9]", "", text.strip().rstrip("/").rpartition("/")[2].lower())


def hashed(text: str) -> str:
    """Returns what is stored of a token, key or code."""
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()


def same(one: str, other: str) -> bool:
    """Tells whether two texts are equal, in a time that says nothing about where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))


def display_name(text: str) -> str:
    """Returns a name that may be shown, with single spaces.

    Raises:
        ValueError: it is empty, too long, mixes alphabets that look alike, or holds characters that cannot be seen or
            turn text around.

    >>> display_name(" Ada  B ")
    'Ada B'
    """
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not 1 <= len(name) <= NAME_LENGTH:
        raise ValueError(f"a name of {len(name)} characters: expected 1 to {NAME_LENGTH}")
    for character in name:
        if unicodedata.category(character)[0] == "C" or character in "\u034f\u115f\u1160\u3164\uffa0":
            raise ValueError(f"the name holds U+{ord(character):04X}, which cannot be seen")
    scripts = {unicodedata.name(character, "").partition(" ")[0] for character in name} & _LOOK_ALIKE
    if len(scripts) > 1:
        raise ValueError(f"the name mixes {' and '.join(sorted(scripts)).title()} letters, which look alike")
    return name


def name_key(name: str) -> str:
    """Returns what two names share that a reader would take for one.

    >>> name_key("Ada  B") == name_key("ADA b")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
