"""What tokens, codes and names look like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.people.people import entropy
from tournament import tokens


def test_a_token_has_an_id_and_a_hash_and_no_two_are_alike() -> None:
    random = entropy(7)
    made = [tokens.new_token(random) for _ in range(50)]
    assert len({each.text for each in made}) == len({each.id for each in made}) == 50
    for token in made:
        assert token.text.startswith(f"smr_{token.id}_")
        assert tokens.token_id(token.text) == tokens.token_id(f" {token.text}\n") == token.id
        assert token.hash == tokens.hashed(token.text) != token.text


@given(st.text())
def test_any_text_is_a_token_or_none(text: str) -> None:
    assert tokens.token_id(text) is None
    assert len(tokens.hashed(text)) == 64


def test_a_code_is_the_same_however_it_is_typed() -> None:
    code = tokens.new_code(entropy(3))
    plain = code.replace("-", "")
    assert len(plain) == 16
    for typed in (code, code.upper(), plain, f"  {code} ", f"https://host:8/join/{code}", f"http://host/join/{code}/"):
        assert tokens.code_of(typed) == plain


def test_codes_hold_no_letters_that_look_alike() -> None:
    random = entropy(5)
    assert not set("ilo01") & set("".join(tokens.new_code(random) for _ in range(200)))


@pytest.mark.parametrize("name", ["Ada", "  Team  Ünïcode ", "李雷", "<img src=x onerror=alert(1)>", "=1+1", "x" * 60])
def test_a_name_that_can_be_seen_is_taken_with_single_spaces(name: str) -> None:
    assert tokens.display_name(name) == " ".join(name.split())


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "a\0b", "a\u202eb", "a\u200bb", "\ud800", "a\u3164b", "\ue000"])
def test_a_name_that_hides_something_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        tokens.display_name(name)


@pytest.mark.parametrize("name", ["\u0410da", "Ad\u03b1", "Team \u0410\u0434\u0430"])
def test_a_name_that_mixes_alphabets_which_look_alike_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="letters, which look alike"):
        tokens.display_name(name)


@pytest.mark.parametrize("name", ["\u0410\u0434\u0430", "\u0386\u03b4\u03b1", "Team \u6771\u4eac", "Ada \u2665 2"])
def test_a_name_in_one_alphabet_is_taken_with_what_looks_like_none_of_its_letters(name: str) -> None:
    assert tokens.display_name(name) == name


def test_names_that_read_the_same_share_a_key() -> None:
    keys = {tokens.name_key(name) for name in ("Ada Lovelace", "ADA  lovelace", "\uff21da Lovelace")}
    assert len(keys) == 1
    assert tokens.name_key("Ada") != tokens.name_key("Eda")
