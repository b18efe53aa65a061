from __future__ import annotations

import pytest

from bumble.errors import UsageError, WeightsMissingError
from bumble.models.weights import hub
from bumble.models.weights.hub import HubFile, HubRepository
from bumble.models.weights.store import PullOptions
from tests.support import serving
from tests.support.serving import repository

GB = 10**9
SIZES = {"Q2_K": 2, "Q3_K_M": 3, "Q4_K_M": 4, "UD-Q4_K_XL": 4.2, "Q6_K": 6, "Q8_0": 8, "BF16": 16}


def offers(*quants: str, stem: str = "Bee-7B") -> HubRepository:
    files = [HubFile(f"{stem}-{one}.gguf", int(SIZES[one] * GB), "0" * 64) for one in quants]
    files += [
        HubFile("mmproj-F16.gguf", GB, "0" * 64),
        HubFile("MTP/mtp-Bee-7B.gguf", GB, "0" * 64),
        HubFile("BF16/Bee-7B-BF16-00001-of-00002.gguf", GB, "0" * 64),
    ]
    return HubRepository("me/Bee-7B-GGUF", "c0ffee", "mit", None, tuple(files))


@pytest.mark.parametrize(
    ("quants", "memory_mb", "chosen"),
    [
        (tuple(SIZES), 64_000, "Q4_K_M"),
        (tuple(SIZES), None, "Q4_K_M"),
        (tuple(SIZES), 6_500, "Q4_K_M"),
        (tuple(SIZES), 5_000, "Q3_K_M"),
        (tuple(SIZES), 3_500, "Q2_K"),
        (("UD-Q4_K_XL", "Q8_0"), 64_000, "UD-Q4_K_XL"),
        (("Q8_0", "BF16"), 64_000, "Q8_0"),
        (("BF16",), 64_000, "BF16"),
    ],
)
def test_the_quantisation_is_the_best_that_memory_holds(
    quants: tuple[str, ...], memory_mb: int | None, chosen: str
) -> None:
    assert hub.choose(offers(*quants), "", memory_mb).path == f"Bee-7B-{chosen}.gguf"


@pytest.mark.parametrize("wanted", ["Bee-7B-Q8_0.gguf", "Q8_0", "q8_0"])
def test_a_file_is_named_by_itself_or_by_its_quantisation(wanted: str) -> None:
    found = hub.choose(offers(*SIZES), wanted, 100)  # whatever the memory
    assert found.path == "Bee-7B-Q8_0.gguf"


@pytest.mark.parametrize(
    ("wanted", "memory_mb", "problem"),
    [
        ("", 1_000, "no file fits into this machine's memory"),
        ("Q5_K_M", None, "there is no Q5_K_M"),
        ("mmproj-F16.gguf", None, "there is no mmproj-F16.gguf"),
        ("Bee-7B-BF16-00001-of-00002.gguf", None, "cut into parts"),
    ],
)
def test_what_there_is_not_is_an_error_that_names_what_there_is(
    wanted: str, memory_mb: int | None, problem: str
) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        hub.choose(offers("Q4_K_M", "Q8_0"), wanted, memory_mb)
    assert "cut into" in problem or "- hf:me/Bee-7B-GGUF:Bee-7B-Q4_K_M.gguf (4.0 GB" in str(
        caught.value
    )


@pytest.mark.parametrize(
    "reference", ["hf:", "hf:bee", "hf:me/bee/x", "hf:me/bee:", "hf:../bee:x", "hf:me/bee:../../x"]
)
def test_what_is_no_place_on_the_hub_is_refused(reference: str) -> None:
    with pytest.raises(UsageError, match="hf:OWNER/REPOSITORY"):
        hub.parse(reference)


def test_the_hub_tells_files_commit_and_licence() -> None:
    about = repository("me/bee", {"a.gguf": b"GGUF"}) | {"gguf": {"context_length": 4096}}
    with serving.hub({}) as fake:
        fake.repositories["me/bee"] = about
        found = hub.look_up("me/bee", PullOptions(endpoint=fake.endpoint))
    assert (found.revision, found.licence, found.context_tokens) == ("c0ffee", "apache-2.0", 4096)
    assert [(one.path, one.bytes) for one in found.files] == [("a.gguf", 4)]


@pytest.mark.parametrize(
    ("status", "moved", "about", "problem"),
    [
        (None, {}, None, "no such repository"),
        (401, {}, None, "set HF_TOKEN"),
        (403, {}, None, "accept the licence at http"),
        (503, {}, None, "Try again later"),
        (None, {}, b"<html>Log in to the Wi-Fi</html>", "login page"),
        (None, {}, b"[1, 2]", "login page"),
        (None, {"/api/models/me/bee": "/api/models/you/bee"}, None, "sends on to you/bee"),
    ],
)
def test_a_hub_that_does_not_tell_is_an_error_that_says_what_to_do(
    status: int | None, moved: dict[str, str], about: bytes | None, problem: str
) -> None:
    with serving.hub({}) as fake, pytest.raises(WeightsMissingError, match=problem) as caught:
        fake.statuses = {"/api/models/me/bee": status} if status else {}
        fake.moved = moved
        fake.repositories["you/bee"] = repository("you/bee", {})
        if about is not None:
            fake.repositories["me/bee"] = about
        hub.look_up("me/bee", PullOptions(endpoint=fake.endpoint))
    assert "hf:me/bee" in str(caught.value)


def test_a_hub_out_of_reach_is_an_error_within_seconds() -> None:
    with pytest.raises(WeightsMissingError, match=r"PATH/FILE\.gguf"):
        hub.look_up("me/bee", PullOptions(endpoint="http://127.0.0.1:1"))


def test_a_repository_without_weights_of_this_form_says_so() -> None:
    with pytest.raises(UsageError, match="no GGUF file"):
        hub.choose(HubRepository("me/bee", "c0ffee", "mit", None, ()), "", None)
