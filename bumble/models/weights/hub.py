"""Downloading a file from a model hub over HTTP: retries, timeouts, resuming.

`hf_hub_download` is not used: on a machine without a way out it retries for a minute before it
says so, and it keeps its own cache. Its session is, so tokens, proxies, HF_ENDPOINT and
HF_HUB_OFFLINE count as they do elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import httpx2
from huggingface_hub import HfApi, get_session, get_token, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError
from msgspec import Struct

from bumble import patterns
from bumble.errors import UsageError, WeightsMissingError
from bumble.llm.wire import within
from bumble.models.weights.catalog import Hub, needed_mb
from bumble.models.weights.store import PullOptions, SourceRefusedError
from bumble.text import printable

_CONNECT_SECONDS = 3.0
_ANSWER_SECONDS = 5.0  # in all, name lookup included, which has no limit of its own
_SILENCE_SECONDS = 30.0
_TRIES = 5  # in a row without a byte
_TIMEOUT = httpx2.Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS)
# Not OSError: a full disk is not the hub's refusal.
FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, ConnectionError, TimeoutError)
NONSENSE = (ValueError, KeyError, TypeError, AttributeError)  # what is no hub's answer comes to
UNANSWERED = (*FAILURES, *NONSENSE)


def refusal(source: Hub, means: PullOptions) -> str | None:
    """Ask whether the hub has the file. Returns its reason if not, within seconds.

    What it said is kept in `means.answers`, and a hub that can't be reached is not tried again.
    """
    url = _url(source, means)
    place = "/".join(url.split("/")[:3])  # scheme and host
    for key in (url, place):
        if key in means.answers:
            return means.answers[key]
    head = partial(get_session().head, url, headers=_headers(), timeout=_TIMEOUT)
    try:
        response = within(_ANSWER_SECONDS, partial(head, follow_redirects=False), UNANSWERED)
    except FAILURES as error:
        said = printable.masked(str(error))
        reason = said if isinstance(error, TimeoutError) else f"can't be reached: {said}"
        means.answers[place] = reason
    else:
        means.answers[url] = reason = _status_problem(response.status_code, url)
    return reason


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


_REFERENCE = patterns.compile(r"hf:(\w[\w.-]*/\w[\w.-]*)(?::([\w][\w./-]*))?", re.ASCII)
# Four bits lose little and are quick; what is larger comes next where it fits, then what is less.
_QUANTS = (
    *("Q4_K_M", "Q4_K_XL", "Q4_K_L", "Q4_K_S", "Q4_0", "IQ4_NL", "IQ4_XS", "Q4_1", "MXFP4"),
    *("Q5_K_M", "Q5_K_S", "Q6_K", "Q8_0", "Q3_K_L", "Q3_K_M", "Q3_K_S", "Q2_K"),
)
_PART_OF_MANY = patterns.compile(r"-\d{5}-of-\d{5}\.gguf$")
_NO_TALKER = patterns.compile(r"(^|[/._-])(mmproj|mtp|imatrix)([/._-]|$)", re.IGNORECASE)

_OTHERWISE = (
    "Try again later, or bring the file from another machine: `bumble model pull PATH/FILE.gguf`."
)


class HubFile(Struct, frozen=True):
    """A GGUF file of a repository, as the hub's metadata have it."""

    path: str
    bytes: int
    sha256: str


class HubRepository(Struct, frozen=True):
    """A repository as it stands."""

    name: str
    revision: str  # the commit
    licence: str
    context_tokens: int | None  # None where the hub does not say
    files: tuple[HubFile, ...]


def parse(reference: str) -> tuple[str, str]:
    """Return the repository and the file, empty if none, that `hf:OWNER/REPO[:FILE]` names.

    Raises:
        UsageError: If it is not of that form.
    """
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise UsageError(f"{reference}: say hf:OWNER/REPOSITORY or hf:OWNER/REPOSITORY:FILE.gguf.")
    return match[1], match[2] or ""


def look_up(name: str, means: PullOptions) -> HubRepository:
    """Ask the hub about a repository.

    Raises:
        WeightsMissingError: If it does not tell; says why and what to do.
    """
    api = HfApi(endpoint=means.endpoint)
    page = f"{api.endpoint}/{name}"
    try:
        info = within(
            _ANSWER_SECONDS, lambda: api.model_info(name, files_metadata=True), UNANSWERED
        )
    except HfHubHTTPError as error:
        raise WeightsMissingError(f"hf:{name}: {_refusal(error, page)}") from error
    except FAILURES as error:
        problem = f"the hub can't be asked: {_first_line(error)}"
        raise WeightsMissingError(f"hf:{name}: {problem}\n{_OTHERWISE}") from error
    except NONSENSE as error:
        raise WeightsMissingError(
            f"hf:{name}: {api.endpoint} does not answer as a model hub does.\n"
            "Look whether a proxy or a login page stands in between, and what HF_ENDPOINT says."
        ) from error
    if info.id != name:
        raise WeightsMissingError(
            f"hf:{name}: the hub sends on to {info.id}, which may be somebody else's.\n"
            f"If that is the one you mean: `bumble model pull hf:{info.id}`."
        )
    files = tuple(
        HubFile(one.rfilename, one.lfs.size, one.lfs.sha256)
        for one in info.siblings or ()
        if one.lfs is not None and one.rfilename.endswith(".gguf")
    )
    said = [tag.removeprefix("license:") for tag in info.tags or () if tag.startswith("license:")]
    length = (info.gguf or {}).get("context_length")
    licence = said[0] if said else "not stated"
    return HubRepository(name, str(info.sha), licence, length or None, files)


def choose(repository: HubRepository, wanted: str, memory_mb: int | None) -> HubFile:
    """Choose a file.

    Args:
        repository: Where from.
        wanted: Its path, its name, or its quantisation; empty: what runs best.
        memory_mb: Of this machine; None: not known.

    Raises:
        UsageError: If there is none; names those there are.
    """
    talkers = [file for file in repository.files if not _NO_TALKER.search(file.path)]
    whole = [file for file in talkers if not _PART_OF_MANY.search(file.path)]
    if wanted:
        named = [file for file in talkers if _is_named(file, wanted)]
        if len(named) == 1 and named[0] in whole:
            return named[0]
        if named and not set(named) & set(whole):
            raise UsageError(
                f"hf:{repository.name}: {wanted} is cut into parts; choose a whole one."
            )
        problem = f"{wanted} means {len(named)} files" if named else f"there is no {wanted}"
        raise UsageError(_listed(repository, problem, whole))
    fitting = [file for file in whole if memory_mb is None or needed_mb(file.bytes) <= memory_mb]
    if not fitting:
        problem = "no file fits into this machine's memory" if whole else "there is no GGUF file"
        raise UsageError(_listed(repository, problem, whole))
    return min(fitting, key=lambda file: (_rank(file), file.path))


def _refusal(error: HfHubHTTPError, page: str) -> str:
    """Say what a status means, by itself: a mirror may leave out what the hub says beside it."""
    status = error.response.status_code
    if status == 403 or error.response.headers.get("X-Error-Code") == "GatedRepo":
        return gated(page)
    if status in (401, 404):
        return (
            "the hub shows no such repository.\n"
            f"Check the name at {page}; for a private one set HF_TOKEN to a token that may read it."
        )
    return f"the hub answers {status}: {_first_line(error)}\n{_OTHERWISE}"


def _first_line(error: BaseException) -> str:
    first: str = printable.masked(str(error)).strip().partition("\n")[0]
    return first


def _is_named(file: HubFile, wanted: str) -> bool:
    name = file.path.rpartition("/")[2]
    stem = name.removesuffix(".gguf").upper()
    return wanted in (file.path, name) or stem.endswith(
        (f"-{wanted.upper()}", f".{wanted.upper()}")
    )


def _rank(file: HubFile) -> int:
    # The quantisation ends the name: a Q4_K_M of a model called `X-Q8_0-distilled` is no Q8_0.
    stem = file.path.removesuffix(".gguf").upper()
    ranks = [rank for rank, quant in enumerate(_QUANTS) if stem.endswith(quant)]
    return min(ranks, default=len(_QUANTS))


def _listed(repository: HubRepository, problem: str, files: Sequence[HubFile]) -> str:
    lines = [
        f"- hf:{repository.name}:{file.path} ({file.bytes / 1e9:.1f} GB, "
        f"about {needed_mb(file.bytes) / 1000:.1f} GB of memory)"
        for file in sorted(files, key=lambda file: file.bytes)
    ]
    return "\n".join(
        [f"hf:{repository.name}: {problem}. Name one of:", *lines]
        if lines
        else [
            f"hf:{repository.name}: {problem}.",
            "Look for a repository of the model whose name ends in GGUF.",
        ]
    )
