"""llama.cpp in this process: its start, settings, grammar and loopback connection.

Everything goes through the listener, completions too: only there are prefixes saved, templates
rendered and tokens counted; a read from a socket can be interrupted (the call into C cannot while
a prompt is evaluated), and a closed connection is what stops a generation. It listens on 127.0.0.1
only, on a free port, and wants a key that lives as long as the process.
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

# Threads that spin while they wait take the cores from each other: on a machine with other work an
# answer took five to seven times as long. Read once, when the engine's library is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import xllamacpp

from bumble.llm.openai_format import failure

VERSION: str = xllamacpp.__version__
CACHE_TYPE = "q8_0"  # of K and V: half the bytes of f16, on disk too, at the same speed
BATCH_TOKENS = 128  # evaluated at a stretch; an interrupt waits this long
_POLL_SECONDS = 0.05
_RAM_CACHE_MIB = 512  # swaps conversations where there is no folder to swap to


# One line, spaced as the examples of the prompts are: a small model that sets out its JSON nicely
# writes twice the tokens.
_ONE_LINE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


Reasoning = Literal["none", "may", "does"]  # before an answer; "does": the prompt has begun it


def grammar(
    schema: Mapping[str, Any], reasoning: Reasoning = "none", reasoning_tokens: int = 0
) -> str:
    """Return the grammar (llguidance's) of the answers that a JSON schema allows, on one line.

    The listener takes schemas too, but then leaves the spaces between members to the model.

    Args:
        schema: What the answer must satisfy.
        reasoning: Whether a model may reason first, in `<think>` tags.
        reasoning_tokens: For how long.
    """
    rules = str(xllamacpp.json_schema_to_grammar(json.dumps({**schema, "x-guidance": _ONE_LINE})))
    if reasoning == "none":
        return rules
    first = '("<think>" thought)?' if reasoning == "may" else "thought"
    return rules.replace(
        "\nstart:",
        f"\nstart: {first} answer\n"
        'thought: reasoning "</think>" "\\n\\n"?\n'
        f'reasoning[stop="</think>", max_tokens={reasoning_tokens}]: /(.|\\n)*/\n'
        "answer:",
        1,
    )


def encode(body: Mapping[str, Any]) -> bytes:
    """Return the body of a request to the listener as it is sent."""
    return json.dumps(body).encode()


class Engine:
    """Weights that are loaded, and requests to them."""

    def __init__(
        self, weights: Path, context_tokens: int, threads: int | None, prefix_folder: Path | None
    ) -> None:
        """Load the weights.

        Args:
            weights: A GGUF file.
            context_tokens: The window to make room for.
            threads: None: as many as there are cores, or as this process may use.
            prefix_folder: Where evaluated prefixes go; None: nothing is written.

        Raises:
            RuntimeError: If they cannot be loaded.
        """
        self._key = secrets.token_hex(32)
        self._server: xllamacpp.Server | None = xllamacpp.Server(
            _params(weights, context_tokens, threads, prefix_folder, self._key)
        )
        address = urlsplit(self._server.listening_address)
        self._host, self._port = address.hostname or "127.0.0.1", address.port
        # The server says it is ready just before its loop begins, and one that is closed in
        # between never ends (nor does this process: it waits in C). This goes through the loop.
        self.ask("/slots")

    def ask(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        timeout_seconds: float | None = None,
    ) -> Any:
        """Ask the listener for something, and wait for all of it; interrupting it stops the work.

        Raises:
            StatusError: If it refuses.
            OSError: If it does not answer in time.
        """
        with closing(self._connect(timeout_seconds)) as connection:
            return json.loads(self._send(connection, path, body).read())

    def stream(
        self, path: str, body: Mapping[str, Any], *, until: float | None = None
    ) -> Generator[bytes, None, None]:
        """Send a request and yield the lines of its answer; leaving early stops the generation.

        Args:
            path: Of the listener.
            body: Of the request.
            until: When all of it has to be there, by `time.monotonic`; None: no limit.

        Raises:
            StatusError: If the engine refuses.
            TimeoutError: If the time for all of it is over.
        """
        with closing(self._connect(_left(until))) as connection:
            response = self._send(connection, path, body)
            while line := _line(connection, response, until):
                yield line

    def wait_idle(self, timeout_seconds: float) -> None:
        """Wait until nothing is evaluated any more, at most so long."""
        with suppress(OSError):
            for _ in range(max(1, round(timeout_seconds / _POLL_SECONDS))):
                slots = self.ask("/slots", timeout_seconds=timeout_seconds)
                if not any(slot["is_processing"] for slot in slots):
                    return
                time.sleep(_POLL_SECONDS)

    def close(self) -> None:
        """Let go of the weights."""
        self._server = None

    def _connect(self, timeout_seconds: float | None) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout_seconds)

    def _send(
        self,
        connection: http.client.HTTPConnection,
        path: str,
        body: Mapping[str, Any] | None,
    ) -> http.client.HTTPResponse:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        method, data = ("GET", None) if body is None else ("POST", encode(body))
        connection.request(method, path, data, headers)
        response = connection.getresponse()
        if response.status != http.HTTPStatus.OK:
            raise failure(json.loads(response.read() or b"{}"), response.status)
        return response


def _left(until: float | None) -> float | None:
    """Return the seconds that are left, for a socket: none of them would mean not to wait at all.

    Raises:
        TimeoutError: If none are.
    """
    if until is None:
        return None
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _line(
    connection: http.client.HTTPConnection, response: http.client.HTTPResponse, until: float | None
) -> bytes:
    """Read a line; the time that is left is less with each."""
    if connection.sock is not None:  # an answer that ends with its connection has taken it over
        connection.sock.settimeout(_left(until))
    elif until is not None:
        _left(until)
    return response.readline()


def _allowed_cores() -> int | None:
    """How many cores this process is held to; None where it may use them all.

    The engine counts the machine's cores: under `taskset`, or in a service held to one core, its
    threads would wait for each other.
    """
    if sys.platform != "linux":
        return None
    allowed = len(os.sched_getaffinity(0))
    return allowed if allowed < (os.cpu_count() or 1) else None


def _params(
    weights: Path, context_tokens: int, threads: int | None, prefix_folder: Path | None, key: str
) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = context_tokens
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_Q8_0
    threads = threads or _allowed_cores()
    if threads is not None:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # Loading must be quick: no trial run, and no copy of the weights in another layout.
    params.warmup = False
    params.no_extra_bufts = True
    params.fit_params = False
    params.verbosity = -1
    # A message of the assistant at the end is complete, not the beginning of the next answer.
    params.prefill_assistant = False
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.ui = False
    params.cache_ram_mib = _RAM_CACHE_MIB if prefix_folder is None else 0
    params.endpoint_slots = True
    if prefix_folder is not None:
        params.slot_save_path = f"{prefix_folder}/"
    return params
