"""What a repository of a model hub offers: its GGUF files with sizes and hashes, commit, licence.

`hf:OWNER/REPO[:FILE]` names one of them. Where no file is named it is the one with the quantisation
that runs best of those that fit into memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.hf_api import ModelInfo
from msgspec import Struct

from bumble.errors import UsageError, WeightsMissingError
from bumble.models.weights import hub
from bumble.models.weights.catalog import needed_mb
from bumble.models.weights.sources import PullOptions
from bumble.text import urls

_REFERENCE = re.compile(r"hf:(\w[\w.-]*/\w[\w.-]*)(?::([\w][\w./-]*))?", re.ASCII)
# Four bits lose little and are quick; what is larger comes next where it fits, then what is less.
_QUANTS = (
    *("Q4_K_M", "Q4_K_XL", "Q4_K_L", "Q4_K_S", "Q4_0", "IQ4_NL", "IQ4_XS", "Q4_1", "MXFP4"),
    *("Q5_K_M", "Q5_K_S", "Q6_K", "Q8_0", "Q3_K_L", "Q3_K_M", "Q3_K_S", "Q2_K"),
)
_PART_OF_MANY = re.compile(r"-\d{5}-of-\d{5}\.gguf$")
_NO_TALKER = re.compile(r"(^|[/._-])(mmproj|mtp|imatrix)([/._-]|$)", re.IGNORECASE)

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
        info = hub.within(lambda: api.model_info(name, files_metadata=True))
    except HfHubHTTPError as error:
        raise WeightsMissingError(f"hf:{name}: {_refusal(error, page)}") from error
    except hub.FAILURES as error:
        problem = f"the hub can't be asked: {_first_line(error)}"
        raise WeightsMissingError(f"hf:{name}: {problem}\n{_OTHERWISE}") from error
    except hub.NONSENSE as error:
        raise WeightsMissingError(
            f"hf:{name}: {api.endpoint} does not answer as a model hub does.\n"
            "Look whether a proxy or a login page stands in between, and what HF_ENDPOINT says."
        ) from error
    if info.id != name:
        raise WeightsMissingError(
            f"hf:{name}: the hub sends on to {info.id}, which may be somebody else's.\n"
            f"If that is the one you mean: `bumble model pull hf:{info.id}`."
        )
    return _repository(name, info)


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
        return hub.gated(page)
    if status in (401, 404):
        return (
            "the hub shows no such repository.\n"
            f"Check the name at {page}; for a private one set HF_TOKEN to a token that may read it."
        )
    return f"the hub answers {status}: {_first_line(error)}\n{_OTHERWISE}"


def _first_line(error: BaseException) -> str:
    first: str = urls.masked(str(error)).strip().partition("\n")[0]
    return first


def _repository(name: str, info: ModelInfo) -> HubRepository:
    files = tuple(
        HubFile(one.rfilename, one.lfs.size, one.lfs.sha256)
        for one in info.siblings or ()
        if one.lfs is not None and one.rfilename.endswith(".gguf")
    )
    said = [tag.removeprefix("license:") for tag in info.tags or () if tag.startswith("license:")]
    length = (info.gguf or {}).get("context_length")
    return HubRepository(
        name, str(info.sha), said[0] if said else "not stated", length or None, files
    )


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
