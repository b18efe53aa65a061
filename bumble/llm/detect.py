"""Which servers and providers there are: those that answer on this machine, those known by name.

Asks over plain sockets, all at once and with little patience: with nothing there it takes no time.
Imports no SDK.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from bumble.llm.wire import entries, within

Kind = Literal["ollama", "openai"]

_PATHS: dict[Kind, str] = {"ollama": "/api/tags", "openai": "/v1/models"}
_MAX_BYTES = 1_000_000  # of an answer; a port may belong to anything
_TRIES = 4  # timeouts that a whole answer may take, which comes in pieces
_NOT_CHAT = ("embed", "rerank", "whisper", "bge-", "minilm")  # in names of models that cannot talk


class Address(Struct, frozen=True):
    """Where a local server may listen."""

    label: str  # as `status` prints it
    kind: Kind  # which backend speaks to it
    url: str  # scheme, host and port


class LocalServer(Struct, frozen=True):
    """A local server that answered."""

    address: Address
    models: tuple[str, ...]  # that can chat, in the server's order
    sizes: Mapping[str, int] = field(default_factory=dict)  # of their files in bytes, if told

    @property
    def base_url(self) -> str:
        """What the backend takes as its address."""
        return self.address.url + ("/v1" if self.address.kind == "openai" else "")


ADDRESSES = (
    Address("Ollama", "ollama", "http://127.0.0.1:11434"),
    Address("llama-server", "openai", "http://127.0.0.1:8080"),
    Address("LM Studio", "openai", "http://127.0.0.1:1234"),
)


def addresses(ollama_url: str, probe_urls: Sequence[str]) -> list[Address]:
    """Name the addresses that the settings list, Ollama's first."""
    labels = {address.url: address.label for address in ADDRESSES}
    plain = [url.removesuffix("/").removesuffix("/v1") for url in probe_urls]
    others = (Address(labels.get(url, "a server"), "openai", url) for url in plain)
    return [Address("Ollama", "ollama", ollama_url), *others]


def servers(
    addresses: Sequence[Address] = ADDRESSES, *, timeout_seconds: float = 0.25
) -> tuple[LocalServer, ...]:
    """Ask every address at once; return the servers that have a chat model, in the order given."""
    if not addresses:
        return ()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(addresses), thread_name_prefix="detect") as pool:
        servers = pool.map(lambda address: _ask(address, timeout_seconds), addresses)
        return tuple(server for server in servers if server.models)


def digest(url: str, model: str, *, timeout_seconds: float = 0.25) -> str:
    """Return by what an Ollama server tells versions of a model apart; empty if it doesn't say."""
    answer = _listing(Address("Ollama", "ollama", url), timeout_seconds)
    names = (model, f"{model}:latest")
    found = (one for one in entries(answer, "models") if one.get("name") in names)
    return str(next(found, {}).get("digest") or "")


def _ask(address: Address, timeout_seconds: float) -> LocalServer:
    members, name = ("models", "name") if address.kind == "ollama" else ("data", "id")
    listed = entries(_listing(address, timeout_seconds), members)
    sizes = {one[name]: _size(one) for one in listed if isinstance(one.get(name), str)}
    chat = (name for name in sizes if not any(sign in name.lower() for sign in _NOT_CHAT))
    told = {name: size for name, size in sizes.items() if size is not None}
    return LocalServer(address, tuple(chat), told)


def _listing(address: Address, timeout_seconds: float) -> Any:
    """Ask a server for its models, and wait for its whole answer no longer than a few timeouts."""
    try:
        return within(_TRIES * timeout_seconds, lambda: _listed(address, timeout_seconds), ())
    except TimeoutError:
        return None  # something that says a byte now and then


def _listed(address: Address, timeout_seconds: float) -> Any:
    import http.client  # 20 ms, and who set a model asks nobody

    try:
        place = urlsplit(address.url)
        host, port = place.hostname or "127.0.0.1", place.port
        with closing(http.client.HTTPConnection(host, port, timeout=timeout_seconds)) as connection:
            connection.request("GET", _PATHS[address.kind], headers={"Accept": "application/json"})
            response = connection.getresponse()
            is_ok = response.status == http.HTTPStatus.OK
            return json.loads(response.read(_MAX_BYTES)) if is_ok else None
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return None  # no address, nothing there, or something else


def _size(entry: Mapping[str, Any]) -> int | None:
    meta = entry.get("meta")  # llama-server's
    size = entry.get("size", meta.get("size") if isinstance(meta, dict) else None)
    return size if isinstance(size, int) and size > 0 else None


# How a library is installed that the engine wants.
_LIBRARIES = {
    "libgomp.so": "As root: apt-get install libgomp1 (Fedora: dnf install libgomp, openSUSE: zypper"
    " install libgomp1, Arch: pacman -S gcc-libs).",
    "libstdc++.so": "As root: apt-get install libstdc++6 (Fedora: dnf install libstdc++, openSUSE:"
    " zypper install libstdc++6, Arch: pacman -S gcc-libs).",
}
_REDISTRIBUTABLE = (
    "Install Microsoft's Visual C++ Redistributable: https://aka.ms/vs/17/release/vc_redist.x64.exe"
)
INSTEAD = "Or let a local server talk, such as Ollama, or an endpoint."


@cache
def problem() -> str:
    """Return why the engine can't be opened, and what to do; empty where it can."""
    try:
        importlib.import_module("bumble.llm.engine")
    except ModuleNotFoundError:
        return (
            "The embedded engine is not installed: it has no wheel for this system\n"
            "Run a local server, such as Ollama, or name an endpoint (llm.base_url)."
        )
    except ImportError as error:
        first = (str(error).splitlines() or ["it can't be loaded"])[0]
        return f"The embedded engine can't be opened: {first}\n{advice(first)}{INSTEAD}"
    return ""


def advice(error: str, platform: str = sys.platform) -> str:
    """Return how the library an error names is installed; empty where that isn't known."""
    if platform == "win32":
        return f"{_REDISTRIBUTABLE}\n"
    return next((f"{how}\n" for name, how in _LIBRARIES.items() if name in error), "")


NONE = "none"  # what the setting says where no provider is set
PROVIDERS = Path(__file__).with_name("providers.json")


class Provider(Struct, frozen=True, forbid_unknown_fields=True):
    """A provider with an OpenAI-compatible endpoint, as looked up in November 2026."""

    name: str  # as `llm.provider` has it
    label: str
    url: str
    key: str  # the environment variable that holds the key
    model: str  # one of its models that suits a talk, offered to who has a key
    source: str  # the page that says what it takes
    models: str  # the page that names the model
    note: str = ""  # for who reads the file
    # Sent when it is asked for its models, beside what goes with every request; `$key` is the key.
    list_headers: Mapping[str, str] = field(default_factory=dict)
    thinks: Mapping[str, Any] = field(default_factory=dict)  # parameters that have a model think
    thinks_not: Mapping[str, Any] = field(default_factory=dict)
    marks_cache: bool = False  # whether it takes marks of what is worth keeping


@lru_cache(maxsize=1)
def providers() -> tuple[Provider, ...]:
    """Return all of them, in the order in which they are offered."""
    return msgspec.json.decode(PROVIDERS.read_bytes(), type=tuple[Provider, ...])


def provider_of(url: str) -> Provider | None:
    """Return the provider that an address belongs to."""
    host = urlsplit(url).hostname
    return next((one for one in providers() if urlsplit(one.url).hostname == host), None)


def provider_named(name: str) -> Provider | None:
    """Return a provider by its name; None: that is of none, as where no provider is set."""
    wanted = name.strip().lower()
    listed = providers() if wanted != NONE else ()  # their file takes its time
    return next((one for one in listed if one.name == wanted), None)


# By the beginning of a name, without the owner before a slash; the first that fits counts. From
# the makers' own model pages, November 2026; where versions differ, the smallest window.
_WINDOWS = (
    (r"gpt-5", 272_000),
    (r"gpt-4\.1", 1_047_576),
    (r"gpt-4o|gpt-4-turbo|chatgpt-4o", 128_000),
    (r"gpt-oss", 131_072),
    (r"gpt-3\.5", 16_385),
    (r"o[134]\b", 128_000),
    (r"claude", 200_000),
    (r"gemini", 1_048_576),
    (r"gemma-?3", 128_000),
    (r"gemma-?4", 128_000),
    (r"mistral-(large|medium|small)|magistral|ministral|devstral", 128_000),
    (r"codestral", 32_000),
    (r"deepseek", 64_000),
    (r"llama-?4", 131_072),
    (r"llama-?3\.[123]|meta-llama-3\.[123]", 131_072),
    (r"qwen-?3", 40_960),
    (r"qwen-?2\.5", 32_768),
    (r"grok", 131_072),
    (r"kimi", 131_072),
    (r"glm", 128_000),
    (r"command-[ar]", 128_000),
    (r"phi-?4", 16_384),
)


def window_of(name: str) -> int | None:
    """Return the tokens that a model of this name takes; None: no family that is known."""
    short = name.rsplit("/", 1)[-1].lower()
    return next((length for start, length in _WINDOWS if re.match(start, short)), None)
