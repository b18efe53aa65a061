from __future__ import annotations

import pytest

from bumble.entity import secrets
from bumble.errors import RefusedError


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("The key is sk-proj-9fA3kLm2Qx7ZtRb81VnYc4WdEuHs6GpJ.", "an API key"),
        ("ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5", "an access token"),
        ("AKIAIOSFODNN7EXAMPLE", "an API key"),
        ("Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF", "an access token"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----", "a private key"),
        ("My bank password is Tulip!Garden77, in case", "a password"),
        ("Das Passwort ist hund2024", "a password"),
        ("password: swordfish", "a password"),
        ("Der Token ist 4821-3377", "a password"),
        ("secret: hunter!pass", "a password"),
        ("api_key=abcd1234", "a password"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxR", "a password"),
        ("PGPASSWORD=hunter22", "a password"),
        ("POSTGRES_PASSWORD=mysecretpassword", "a password"),
        ("API_KEY_PROD=abcd1234efgh", "a password"),
        ('"clientSecret": "a1-b2-c3"', "a password"),
        ("Authorization: Bearer abcdefghijklmnop1234", "an access token"),
        ("My PIN is 4821", "a PIN"),
        ("the card is 4539 1488 0343 6467.", "a card number"),
        ("my password: hunter2secret and so on", "a password"),
        ("Mein Passwort für die Bank ist hund2024", "a password"),
        ("mon mot de passe est Soleil42!", "a password"),
        ("mi contraseña es Luna2020", "a password"),
        ("la mia password è gatto123", "a password"),
        ("a minha senha é flor#azul", "a password"),
        ("мой пароль: ромашка7", "a password"),
        ("moje hasło to kwiat77", "a password"),
        ("密码是abc123!", "a password"),
        ('her password is "swordfish"', "a password"),
        ("die PIN ist 4821", "a PIN"),
        ("my pin: 4821", "a PIN"),
        ("PIN-Code 482190", "a PIN"),
        ("and the CVV is 123", "a card's code"),
        ("postgres://sam:hunter2@db/main", "a login in an address"),
        ("9fA3kLm2Qx7ZtRb81VnYc4WdEuHs6GpJ", "a key"),
    ],
)
def test_secrets_are_found_and_hidden(text: str, what: str) -> None:
    assert secrets.find_secret(text) == what
    hidden = secrets.redacted(text)
    assert secrets.HIDDEN in hidden
    assert secrets.find_secret(hidden) is None


@pytest.mark.parametrize(
    "text",
    [
        "Sam moved to Lisbon on 2026-05-24 and pays 1200 euros.",
        "The password is wrong again.",
        "I forgot my password, is it written down?",
        "msg_01JW0Q6ZV3K8M2N4P6R8T0VXYZ and ses_01JW0Q6ZV3K8M2N4P6R8T0VXYZ",
        "commit 3a1f0c9d8e7b6a5f4e3d2c1b0a9f8e7d6c5b4a39",
        "Call 0351 912 345 678 90.",
        "Donaudampfschifffahrtsgesellschaftskapitaen",
        "https://example.org/a/long/path-with-many-words-in-it-0123",
        "The token economy is a topic; tokens are counted.",
        "1111 1111 1111 1111",
        "Das Passwort ist weg, ich brauche ein neues.",
        "J'ai oublié mon mot de passe.",
        "DE89 3704 0044 0532 0130 00",
        "We pin 2024 photos to the wall.",
        "The secret is to let the dough rest for 12 hours.",
        "Here is a secret: Mateo and I are buying a piano, 1,250 euros.",
        "Secret: 2026-12-24, at noon. The token: a red button.",
        "Das Geheimnis ist Butter, 250 Gramm.",
        "La clave es dormir 8 horas.",
        "DB_PASSWORD=${DB_PASSWORD}, access key: alt+3",
        "MONKEY=banana4, BYPASS=true, PRIMARY_KEY=id_user, TOKEN_LIMIT=128000",
        "max_tokens=4096, user_token = get_token(1234), max_token: 4096",
        "Cleo was our standard bearer internationally-known",
        "",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert secrets.find_secret(text) is None
    assert secrets.redacted(text) == text


def test_a_write_with_a_secret_is_refused() -> None:
    secrets.refuse("Bank", "Sam's bank is Millennium.")
    with pytest.raises(RefusedError, match="a password"):
        secrets.refuse("Bank", "password: Tulip!Garden77")
