from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from bumble.errors import BudgetSpentError, WeightsMissingError
from bumble.llm.embedded import EmbeddedModel
from bumble.llm.prefix_cache import PrefixFolder
from bumble.llm.protocol import Model, PromptMessage, Request
from bumble.models.weights import catalog, store
from tests.support import stand_ins

SYSTEM = PromptMessage(
    "system", "You are Ada. " + " ".join(f"Bee {n} flew home." for n in range(15))
)
OF_THE_TEMPLATE = 50  # tokens around a message and before the answer
Open = Callable[..., EmbeddedModel]


@pytest.fixture(scope="module")
def real(weights_folder: Path) -> Path:
    return store.require(weights_folder, catalog.load().entry("smollm2-135m")).weights


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights of a thousandth of the size: what is evaluated, and when, is the engine's affair."""
    path = tmp_path_factory.mktemp("small") / "small.gguf"
    return stand_ins.write(path, stand_ins.QWEN3, context_tokens=40960)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "prefixes"


@pytest.fixture
def connect(small: Path, cache: Path) -> Iterator[Open]:
    models: list[EmbeddedModel] = []

    def connect(
        cache_dir: Path | None = cache, context_tokens: int = 2048, weights: Path = small
    ) -> EmbeddedModel:
        model = EmbeddedModel(
            weights,
            name="smollm2-135m",
            sha256="0" * 64,
            context_tokens=context_tokens,
            cache_dir=cache_dir,
            cache_limit_bytes=1 << 30,
        )
        models.append(model)
        return model

    yield connect
    for model in models:
        model.close()


def ask(*history: PromptMessage, text: str = "Hi", max_tokens: int = 8) -> Request:
    messages = [SYSTEM, *history, PromptMessage("user", text)]
    return Request(messages, max_tokens=max_tokens, temperature=0.0, seed=1, cache_id="s1")


def cached(model: EmbeddedModel, request: Request) -> int:
    return model.complete(request).usage.cached_tokens or 0


def test_weights_that_are_not_there_say_how_to_get_them(tmp_path: Path) -> None:
    model: Model = EmbeddedModel(
        tmp_path / "none.gguf",
        name="tiny",
        sha256="0" * 64,
        context_tokens=512,
        cache_dir=None,
        cache_limit_bytes=0,
    )
    with pytest.raises(WeightsMissingError, match="bumble model pull tiny"):
        model.complete(ask())


def test_weights_that_are_damaged_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"GGUF and nothing more")
    model = EmbeddedModel(
        path, name="tiny", sha256="0" * 64, context_tokens=512, cache_dir=None, cache_limit_bytes=0
    )
    with pytest.raises(WeightsMissingError, match="could not be loaded") as caught:
        model.complete(ask())
    assert str(path) in str(caught.value)


@pytest.mark.weights
def test_an_answer_streams_with_its_usage(connect: Open, real: Path) -> None:
    pieces: list[str] = []
    model = connect(weights=real)
    assert model._engine is None
    completion = model.complete(ask(), pieces.append)
    assert "".join(pieces) == completion.text and len(pieces) > 1
    assert completion.finish_reason == "length"
    assert completion.usage.completion_tokens == 8
    assert (completion.usage.prompt_tokens or 0) > 80
    assert 0 < (completion.first_token_seconds or 0) < completion.seconds
    assert model._engine is not None


@pytest.mark.weights
def test_a_schema_is_enforced_even_on_a_tiny_model(connect: Open, real: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"mood": {"enum": ["glad", "sad"]}, "n": {"type": "integer"}},
        "required": ["mood", "n"],
        "additionalProperties": False,
    }
    request = Request([PromptMessage("user", "How are you?")], schema=schema, max_tokens=60, seed=1)
    answer = json.loads(connect(weights=real).complete(request).text)
    assert answer["mood"] in ("glad", "sad") and isinstance(answer["n"], int)


@pytest.mark.weights
def test_json_is_written_on_one_line(connect: Open, real: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"poem": {"type": "string", "maxLength": 60}, "lines": {"const": 2}},
        "required": ["poem", "lines"],
        "additionalProperties": False,
    }
    nicely = json.dumps({"poem": "Roses are red,\nviolets are blue.", "lines": 2}, indent=4)
    messages = [
        PromptMessage("user", "A poem!"),
        PromptMessage("assistant", nicely),
        PromptMessage("user", "Again!"),
    ]
    request = Request(messages, schema=schema, max_tokens=90, temperature=0.0)
    text = connect(weights=real).complete(request).text
    assert "\n" not in text


def test_a_prefix_outlives_the_process_that_evaluated_it(connect: Open, cache: Path) -> None:
    first = connect()
    before = first.complete(ask()).usage.prompt_tokens or 0
    first.close()
    [file] = cache.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    second = connect()
    assert cached(second, ask()) >= before - 2


def test_after_warming_only_the_new_message_is_evaluated(connect: Open) -> None:
    first = connect()
    said = first.complete(ask(text="[Turn context] noon\nHi")).text
    history = [PromptMessage("user", "Hi"), PromptMessage("assistant", said + " in stored form")]
    first.warm(Request([SYSTEM, *history], cache_id="s1"))
    first.close()
    second = connect()
    usage = second.complete(ask(*history, text="[Turn context] one\nAnd?")).usage
    new = (usage.prompt_tokens or 0) - (usage.cached_tokens or 0)
    assert new <= stand_ins.count_tokens(second, "[Turn context] one\nAnd?") + OF_THE_TEMPLATE


class After(threading.Event):
    """Is set from the n-th time on that somebody asks."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.left = count

    def is_set(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_warming_ends_between_two_batches_when_it_is_stopped(connect: Open) -> None:
    long = ask(text="The tide came in again. " * 60)
    shares = []
    for count in (0, 2, 100):
        model = connect(None)
        model.warm(replace(long, stop=After(count)))
        assert model._engine is not None
        usage = model.complete(replace(long, max_tokens=1)).usage
        shares.append((usage.cached_tokens or 0) / (usage.prompt_tokens or 1))
        model.close()
    assert shares[0] == 0
    assert 0 < shares[1] < 0.5
    assert shares[2] > 0.95


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:1000])


@pytest.mark.parametrize("spoil", [damage, truncate])
def test_a_spoiled_prefix_is_discarded_and_costs_only_time(
    connect: Open, cache: Path, spoil: Callable[[Path], None]
) -> None:
    first = connect()
    expected = first.complete(ask()).text
    first.close()
    [file] = cache.iterdir()
    spoil(file)
    completion = connect().complete(ask())
    assert (completion.text, completion.usage.cached_tokens) == (expected, 0)


def test_a_prefix_the_engine_cannot_read_is_discarded(connect: Open, cache: Path) -> None:
    model = connect()
    model.complete(ask())
    model.close()
    [file] = cache.iterdir()

    def write(filename: str) -> bool:
        (cache / filename).write_bytes(b"sealed, but no prefix of any engine" * 100)
        return True

    PrefixFolder(cache, 1 << 30).save(None, file.stem, write)
    assert cached(connect(), ask()) == 0


def test_a_call_in_between_does_not_cost_the_conversation_its_prefix(connect: Open) -> None:
    model = connect()
    before = model.complete(ask()).usage.prompt_tokens or 0
    model.complete(Request([PromptMessage("user", "Judge: DONE or CONTINUE?")], max_tokens=2))
    assert cached(model, ask()) >= before - 2


def test_an_interrupt_stops_the_generation_and_the_model_can_go_on(connect: Open) -> None:
    model = connect(context_tokens=40960)
    model.complete(ask(max_tokens=1))
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model.complete(ask(text="hello " * 5000, max_tokens=600))  # half a minute
    assert time.monotonic() - started < 8
    assert model.complete(ask(max_tokens=2)).text


def test_a_new_conversation_starts_from_the_last_of_its_family(connect: Open) -> None:
    first = connect()
    first.complete(replace(ask(), cache_family="ada"))
    first.close()
    again = connect()
    done = again.complete(replace(ask(text="Who?"), cache_id="s2", cache_family="ada"))
    alone = connect().complete(replace(ask(text="Who?"), cache_id="s3"))
    assert (done.usage.cached_tokens or 0) > 50
    assert alone.usage.cached_tokens == 0


def test_a_call_in_between_does_not_cost_the_family_its_start(connect: Open) -> None:
    first = connect()
    first.complete(replace(ask(), cache_family="ada"))
    first.complete(Request([PromptMessage("user", "Judge: DONE or CONTINUE?")], max_tokens=2))
    first.close()
    done = connect().complete(replace(ask(text="Who?"), cache_id="s2", cache_family="ada"))
    assert (done.usage.cached_tokens or 0) > 50


def test_a_prompt_that_does_not_fit_says_what_to_do(connect: Open) -> None:
    with pytest.raises(BudgetSpentError, match="--new-session"):
        connect(context_tokens=512).complete(ask(text="bee " * 1000))
