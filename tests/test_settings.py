"""Settings come from the environment or from files, and say what is wrong with them."""

from pathlib import Path

import pytest

from tournament.settings import Settings, SettingsError, database_url


def test_without_settings_the_database_is_a_file_here() -> None:
    assert Settings.from_environment({}) == Settings("sqlite:///tournament.db")


def test_a_database_named_on_the_command_line_wins() -> None:
    environment = {"TOURNAMENT_DATABASE_URL": "postgresql://u:p@host/smear"}
    assert Settings.from_environment(environment).database_url == "postgresql+psycopg://u:p@host/smear"
    assert Settings.from_environment(environment, "here.db").database_url == "sqlite:///here.db"


def test_a_secret_is_read_from_its_file_without_the_last_line_feed(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"redis://worker:pass word@redis:6379/0\r\n")
    settings = Settings.from_environment({"TOURNAMENT_BROKER_URL_FILE": str(path), "TOURNAMENT_PUBLIC_URL": ""})
    assert settings.broker_url == "redis://worker:pass word@redis:6379/0"
    assert settings.public_url is None
    assert "pass word" not in repr(settings)


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"TOURNAMENT_SIGNING_KEY": "a", "TOURNAMENT_SIGNING_KEY_FILE": "b"}, "both set"),
        ({"TOURNAMENT_SIGNING_KEY_FILE": "/no/such/file"}, "TOURNAMENT_SIGNING_KEY_FILE is /no/such/file"),
        ({"TOURNAMENT_DATABASE_URL": "mysql://host/x"}, "mysql://"),
        ({"TOURNAMENT_BROKER_URL": "127.0.0.1:6379"}, "expected redis://USER:PASSWORD@HOST:PORT/0"),
        ({"TOURNAMENT_BROKER_URL": "http://redis:6379/0"}, "expected redis://USER"),
        ({"TOURNAMENT_BROKER_URL": "redis://"}, "expected redis://USER"),
        ({"TOURNAMENT_BROKER_URL": "redis://worker:pass@redis:port/0"}, "expected redis://USER"),
        ({"TOURNAMENT_BROKER_URL": "rediss://redis:6380/0?ssl_cert_reqs=always"}, "'always': expected required"),
        (
            {"TOURNAMENT_BROKER_URL": "rediss://redis:6380/0?ssl_cert_reqs=required&ssl_ca_certs=/no/ca.crt"},
            "'/no/ca.crt': expected the authority's file",
        ),
        ({"TOURNAMENT_PUBLIC_URL": "smear.example"}, "expected https://HOST"),
        ({"TOURNAMENT_PUBLIC_URL": "https://smear.example/below"}, "without a path"),
        ({"TOURNAMENT_DATABASE_URL": "sqlite://"}, "sqlite:///FILE"),
        ({"TOURNAMENT_DATABASE_URL": "sqlite:///:memory:"}, "sqlite:///FILE"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(environment: dict[str, str], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        Settings.from_environment(environment)


def test_a_broken_address_of_the_broker_does_not_show_its_password() -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.from_environment({"TOURNAMENT_BROKER_URL": "redis://worker:secret@redis:port/0"})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("a/b.db", "sqlite:///a/b.db"),
        ("/a/b.db", "sqlite:////a/b.db"),
        ("sqlite:///x.db", "sqlite:///x.db"),
        ("postgresql+psycopg://h/d", "postgresql+psycopg://h/d"),
    ],
)
def test_an_address_or_a_path_becomes_an_address(text: str, url: str) -> None:
    assert database_url(text) == url


def test_the_way_from_outside_is_an_address_and_the_proxies_that_are_believed() -> None:
    proxies = {"TOURNAMENT_TRUSTED_PROXY": "10.0.0.2, 10.1.0.0/16"}
    settings = Settings.from_environment({"TOURNAMENT_PUBLIC_URL": "https://smear.example/", **proxies})
    assert settings.public_url == "https://smear.example"
    assert settings.proxies == ("10.0.0.2", "10.1.0.0/16")
    assert Settings.from_environment({"TOURNAMENT_PUBLIC_URL": ""}).public_url is None
