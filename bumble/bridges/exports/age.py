"""Encryption with age: for public keys, or with a passphrase. No key is ever written.

Source: the age specification (age-encryption.org/v1); the library is pyrage.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyrage

MAGIC = b"age-encryption.org/"
HEAD_BYTES = 100  # in which the first recipient stands
# As age says it; whatever else it says is of bytes that are not what they were.
_NOT_OPENED = ("Decryption failed", "No matching keys found")


def encrypted(data: bytes, recipients: Sequence[str], passphrase: str) -> bytes:
    """Encrypt for some recipients, `age1…` or SSH public keys; with a passphrase if there is none.

    Raises:
        ValueError: If one is no recipient.
    """
    if not recipients:
        return bytes(pyrage.passphrase.encrypt(data, passphrase))
    return bytes(pyrage.encrypt(data, [_recipient(text) for text in recipients]))


def _recipient(text: str) -> object:
    kind = pyrage.ssh.Recipient if text.startswith("ssh-") else pyrage.x25519.Recipient
    try:
        return kind.from_str(text)
    except pyrage.RecipientError as error:
        raise ValueError(f"{text[:20]}… is no recipient: {error}") from error


def decrypted(data: bytes, identity: str, passphrase: str) -> bytes:
    """Decrypt with what an identity file holds; with a passphrase if there is none.

    Raises:
        ValueError: If that does not open it, or it is damaged.
    """
    try:
        if not identity:
            return bytes(pyrage.passphrase.decrypt(data, passphrase))
        return bytes(pyrage.decrypt(data, _identities(identity)))
    except pyrage.IdentityError as error:
        raise ValueError("the key is no age identity and no private SSH key") from error
    except pyrage.DecryptError as error:
        if str(error) not in _NOT_OPENED:
            raise ValueError(f"it is damaged or cut off ({error})") from error
        key = "key" if identity else "passphrase"
        raise ValueError(f"this {key} does not open it, or its head is damaged") from error


def is_for_keys(data: bytes) -> bool:
    """Whether what is encrypted opens with a key, and with no passphrase."""
    head = data[:HEAD_BYTES]
    return b"\n-> " in head and b"\n-> scrypt " not in head


def _identities(text: str) -> list[object]:
    if "PRIVATE KEY" in text:
        return [pyrage.ssh.Identity.from_buffer(text.encode())]
    lines = (line.strip() for line in text.splitlines())
    keys = [line for line in lines if line and not line.startswith("#")]
    return [pyrage.x25519.Identity.from_str(key) for key in keys]
