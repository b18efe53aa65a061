"""Downloading a file from a model hub over HTTP: retries, timeouts, resuming.

`hf_hub_download` is not used: on a machine without a way out it retries for a minute before it
says so, and it keeps its own cache. Its session is, so tokens, proxies, HF_ENDPOINT and
HF_HUB_OFFLINE count as they do elsewhere.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import httpx2
from huggingface_hub import get_session, get_token, hf_hub_url

from bumble.models.weights.catalog import Hub
from bumble.models.weights.sources import PullOptions, SourceRefusedError
from bumble.text import urls

_CONNECT_SECONDS = 3.0
_ANSWER_SECONDS = 5.0  # in all, name lookup included, which has no limit of its own
_SILENCE_SECONDS = 30.0
_TRIES = 5  # in a row without a byte
_TIMEOUT = httpx2.Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS)
# Not OSError: a full disk is not the hub's refusal.
FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, ConnectionError, TimeoutError)
NONSENSE = (ValueError, KeyError, TypeError, AttributeError)  # what is no hub's answer comes to
T = TypeVar("T")


def refusal(source: Hub, means: PullOptions) -> str | None:
    """Ask whether the hub has the file. Returns its reason if not, within seconds.

    What it said is kept in `means.answers`, and a hub that can't be reached is not tried again.
    """
    url = _url(source, means)
    place = "/".join(url.split("/")[:3])  # scheme and host
    for key in (url, place):
        if key in means.answers:
            return means.answers[key]
    reached, reason = _ask(url)
    means.answers[url if reached else place] = reason
    return reason


def _ask(url: str) -> tuple[bool, str | None]:
    """Ask for a file's head. Returns whether anybody answered, and what speaks against the file."""
    try:
        response = within(
            lambda: get_session().head(
                url, headers=_headers(), timeout=_TIMEOUT, follow_redirects=False
            )
        )
    except TimeoutError as error:
        return False, str(error)
    except FAILURES as error:
        return False, f"can't be reached: {urls.masked(str(error))}"
    return True, _status_problem(response.status_code, url)


def within(call: Callable[[], T]) -> T:
    """Return what a call to the hub brings.

    Raises:
        TimeoutError: If it takes longer than the hub may for an answer.
    """
    answers: queue.Queue[tuple[T] | Exception] = queue.Queue()

    def ask() -> None:
        try:
            answers.put((call(),))
        except (*FAILURES, *NONSENSE) as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=_ANSWER_SECONDS)
    except queue.Empty:
        raise TimeoutError(f"did not answer within {_ANSWER_SECONDS:g} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer[0]


def gated(page: str) -> str:
    """Say what to do about a repository that asks for its licence to be accepted."""
    return (
        f"its owner gives it only to whom they know: accept the licence at {page}, then set "
        "HF_TOKEN to a token of yours"
    )


def fetch(
    source: Hub, part: Path, size: int, means: PullOptions, progress: Callable[[int], None]
) -> None:
    """Bring `part` to its full size, keeping what is there of it.

    Args:
        source: What to fetch.
        part: The file to fill; after a failure or an interrupt the next call goes on with it.
        size: Bytes of the whole file.
        means: What may be used.
        progress: Gets the bytes that are there.

    Raises:
        SourceRefusedError: If the hub does not give the file.
    """
    if (reason := refusal(source, means)) is not None:
        raise SourceRefusedError(reason)
    failures = 0
    while (have := _size(part)) < size:
        try:
            _stream(source, part, have, size, means, progress)
            problem = "the connection ended early"
        except FAILURES as error:
            problem = str(error) or type(error).__name__
        failures = 0 if _size(part) > have else failures + 1
        if failures >= _TRIES:
            raise SourceRefusedError(f"stopped at {_size(part)} of {size} bytes: {problem}")


def _stream(
    source: Hub,
    part: Path,
    have: int,
    size: int,
    means: PullOptions,
    progress: Callable[[int], None],
) -> None:
    # Compressed on the way, a range would count other bytes than the file's.
    headers = {**_headers(), "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    url = _url(source, means)
    with get_session().stream("GET", url, headers=headers, timeout=_TIMEOUT) as response:
        if response.status_code == 416:  # what is there can't be the beginning of this file
            part.unlink()
            return
        if (problem := _status_problem(response.status_code, url)) is not None:
            raise SourceRefusedError(problem)
        go_on = response.status_code == 206
        have = have if go_on else 0
        with part.open("ab" if go_on else "wb") as stream:
            # As it comes: chunks of a fixed size would lose the last one when the line drops.
            for chunk in response.iter_bytes():
                stream.write(chunk)
                have += len(chunk)
                progress(min(have, size))
                if have > size:
                    raise SourceRefusedError(f"sends more than the {size} bytes it should")


def _url(source: Hub, means: PullOptions) -> str:
    return hf_hub_url(source.repo, source.path, revision=source.revision, endpoint=means.endpoint)


def _headers() -> dict[str, str]:
    token = get_token()  # for models of the user's own; the session drops it on foreign redirects
    return {"User-Agent": "bumble", **({"Authorization": f"Bearer {token}"} if token else {})}


def _status_problem(status: int, url: str) -> str | None:
    if status < 400:
        return None
    if status in (401, 403):
        return f"answers {status}: {gated(url.partition('/resolve/')[0])}"
    return f"answers {status}" + (" (not there)" if status == 404 else "")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
