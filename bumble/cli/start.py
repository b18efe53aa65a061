"""The question which model shall talk, asked once at a terminal where nothing was said about it.

Finds what there is: servers on this machine, the engine in the process, keys of providers. The
answer is kept in the user's own config; without one everything is chosen as ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from msgspec import Struct

from bumble.cli import output, setting_files
from bumble.cli.models import chat_model, weights
from bumble.cli.opening import Configured
from bumble.cli.process import Shell
from bumble.entity import changes, installation, setting_edits
from bumble.errors import CredentialsError
from bumble.llm import detect, providers
from bumble.llm.detect import LocalServer
from bumble.llm.providers import Provider
from bumble.models.weights.catalog import CatalogEntry
from bumble.models.weights.choice import OLLAMA, Choice
from bumble.text import urls

MOST_OF_A_SERVER = 5  # models that are offered of one
HERE = "on this machine, which nothing leaves"
LEAVES = "what you say, and what is remembered for it, goes to"


class Option(Struct, frozen=True):
    """A model that may be chosen, and what it would mean."""

    line: str
    settings: dict[str, str]  # what is to be set
    fetches: CatalogEntry | None = None  # weights that come with it


def ask(opened: Configured) -> bool:
    """Ask which model shall talk, if there is a choice, and keep the answer; whether it was kept.

    Args:
        opened: The settings, in which nothing is said about it.
    """
    shell = opened.shell
    output.sign("looks for models …", shell.environ)
    staying, leaving = _of_servers(opened), list(_of_providers(shell))
    if not any((*staying, leaving)):
        return False
    local, cloud = staying
    options = [*local, *_embedded(shell), *cloud, *leaving]  # first what is chosen without asking
    if len(options) == 1:
        return False
    output.say("Which model shall talk?")
    for number, option in enumerate(options, 1):
        output.say(f"  {number}  {option.line}")
    chosen = options[_number(len(options)) - 1]
    _keep(shell, chosen)
    if chosen.fetches is not None:
        weights.fetch(shell, chosen.fetches, yes=True)
    return True


def _number(count: int) -> int:
    while True:
        typed = output.asked(f"By number, 1 to {count}", default="1").strip()
        if typed.isdecimal() and 1 <= int(typed) <= count:
            return int(typed)
        output.say(f"{typed!r} is none of 1 to {count}.")


def _keep(shell: Shell, option: Option) -> None:
    """Write the answer into the user's own config."""
    place = setting_files.users(shell)
    before = after = place.read()
    for key, value in option.settings.items():
        after = setting_edits.plan_set(after, key, value, file=str(place.path))
    place.write_own(before, after, changes.DEFAULT_LOCK_TIMEOUT_SECONDS)
    output.say(f"Kept in {place.path}; `bumble config set --user llm.model NAME` changes it.")


def _of_servers(opened: Configured) -> tuple[list[Option], list[Option]]:
    """Return the models of the servers that answer: those that run here, and those elsewhere."""
    config = opened.config.llm
    found = detect.servers(detect.addresses(config.ollama_url, config.probe_urls))
    here: list[Option] = []
    elsewhere: list[Option] = []
    for server in found:
        for name in server.models[:MOST_OF_A_SERVER]:
            stays = chat_model.stays_here(_choice(server, name))
            (here if stays else elsewhere).append(_of_server(server, name, stays=stays))
    return here, elsewhere


def _choice(server: LocalServer, name: str) -> Choice:
    is_ollama = server.address.kind == "ollama"
    return Choice("ollama" if is_ollama else "endpoint", name, "", url=server.base_url)


def _of_server(server: LocalServer, name: str, *, stays: bool) -> Option:
    size = f", {output.size(server.sizes[name])}" if name in server.sizes else ""
    where = f"{HERE}{size}"
    if not stays:
        is_here = urls.is_loopback(server.base_url)
        cloud = "Ollama's cloud" if is_here else urls.shown(server.base_url)
        where = f"{LEAVES} {cloud}, which may cost money"
    settings = {"llm.model": f"{OLLAMA}{name}"}
    if server.address.kind != "ollama":  # nobody meant a key for it
        settings = {"llm.base_url": server.base_url, "llm.api_key_env": "", "llm.model": name}
    return Option(f"{name} of {server.address.label}: {where}", settings)


def _embedded(shell: Shell) -> Iterator[Option]:
    """Yield the model that bumble would run itself: the best that is here, or can be fetched."""
    if detect.problem():
        return
    entries = weights.catalog_of(shell).of_kind("chat", weights.memory_mb())
    here = weights.installed(shell, entries)
    entry = here[0] if here else weights.offer_of(shell, entries)
    if entry is None:
        return
    size = output.size(entry.bytes)
    what = f"{size}, is here" if here else f"{size} to be fetched once, {entry.licence}"
    line = f"{entry.name} inside bumble: {HERE}, {what}"
    yield Option(line, {"llm.model": entry.name}, None if here else entry)


def _of_providers(shell: Shell) -> Iterator[Option]:
    """Yield a model of each provider that there is a key for; nothing is asked of any."""
    for provider in providers.known():
        if _has_key(shell, provider):
            yield _of_provider(provider)


def _has_key(shell: Shell, provider: Provider) -> bool:
    try:
        return installation.secret(provider.key, shell.environ, shell.secrets_file) is not None
    except CredentialsError as error:
        output.warn(shell, str(error))
        return False


def _of_provider(provider: Provider) -> Option:
    host = urlsplit(provider.url).hostname
    where = f"{LEAVES} {host}, at its prices, by your {provider.key}"
    settings = {"llm.provider": provider.name, "llm.model": provider.model}
    return Option(f"{provider.model} of {provider.label}: {where}", settings)
