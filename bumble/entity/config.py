"""Every setting as a typed field, with its range: `config.memory.relational…`.

A field's name is its name in the files. What a setting does and its default are said once, in
`bumble/defaults.yaml`; here are its type and range. Knows nothing of where values come from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Struct, field

from bumble.body.config import AffinityConfig, BodyConfig, SomaConfig
from bumble.entity.config_memory import MemoryConfig
from bumble.text.schema import (
    Above,
    Amount,
    Count,
    LanguageCode,
    Length,
    Positive,
    Range,
    Share,
    Temperature,
    TimeZone,
)


class Yours(Struct, frozen=True):
    """Marks a setting that reaches beyond the entity's folder.

    In an entity.yaml it counts only where the user's own config trusts the folder, so that an
    entity that arrives by clone can't send the user's key elsewhere or start programs.
    """


class Owners(Struct, frozen=True):
    """Marks a setting that only the user's own config may make, whomever it trusts."""


YOURS = Yours()
OWNERS = Owners()


SERVER_NAME = re.compile("[a-z][a-z0-9_-]{0,31}")
Tiers = Mapping[str, Literal["none", "choose", "write"]]  # by language: `de`, or `any`
# What a talk needs at once is never held back: its words, the body, what was cut from it. The jobs
# say so of themselves (`upkeep/jobs.reviewed`), and a test holds both to the same.
ReviewedCycle = Literal[
    "stretch",
    "remember",
    "reflect",
    "distill",
    "consolidate",
    "narrate",
    "catalysts",
    "dream",
    "working memory",
]


class AbilitiesConfig(Struct, frozen=True):
    """What a model is trusted with, whatever was measured: by purpose."""

    talk: Tiers
    memory: Tiers


class PricesConfig(Struct, frozen=True):
    """What a model's tokens cost, in dollars a million."""

    prompt: Amount | None
    completion: Amount | None


class LlmConfig(Struct, frozen=True):
    """Which chat model answers, and how it is reached."""

    model: str
    provider: Annotated[
        Literal["none", "openai", "anthropic", "gemini", "openrouter", "mistral", "groq"], OWNERS
    ]
    base_url: Annotated[str, YOURS]
    api_key_env: Annotated[str, YOURS]
    ollama_url: Annotated[str, YOURS]
    probe_urls: Annotated[tuple[str, ...], YOURS]
    context_tokens: Annotated[int, Range(512)] | None
    temperature: Temperature | None
    tool_choice: Literal["required", "auto"]
    connect_timeout_seconds: Amount
    first_token_timeout_seconds: Amount
    silence_timeout_seconds: Amount
    prompt_cache_megabytes: Count
    prices: PricesConfig
    abilities: AbilitiesConfig


class EmbeddingConfig(Struct, frozen=True):
    """Which model turns text into vectors."""

    model: str
    similarity: Literal["calibrated", "raw"]


class RouterConfig(Struct, frozen=True):
    """When a turn is a reflex."""

    classifier: bool
    escalation_threshold: Share
    classifier_max_tokens: Positive
    classifier_temperature: Temperature
    greeting_chars: Count
    question_chars: Count
    question_max_intensity: Share
    long_input_chars: Count
    slang_chars: Count
    reaction_chars: Count


class LoopConfig(Struct, frozen=True):
    """The bounds of the agent loop."""

    max_tool_rounds: Annotated[int, Range(0, 16)]
    repeat_limit: Positive
    preview_chars: Count
    preview_count: Count
    length_stops: Positive


class GateConfig(Struct, frozen=True):
    """The completion gate."""

    enabled: bool
    judge: Literal["auto", "always", "never"]
    judge_max_tokens: Positive
    max_continues: Count


class HistoryCompressionConfig(Struct, frozen=True):
    """How long conversations are kept within the window."""

    enabled: bool
    preset: Literal["standard", "small"]
    summary: Literal["auto", "model", "excerpt"]
    compaction_threshold_ratio: Share
    compaction_target_ratio: Share
    compaction_protect_last_n: Count
    compaction_protect_first_n: Count
    compaction_max_passes: Count
    compaction_min_gain_ratio: Share
    compaction_flush_to_knowledge: bool
    tool_result_max_tokens: Positive
    message_max_tokens: Positive
    max_messages: Positive
    keep_tool_results: Count
    keep_messages_per_role: Count

    def __post_init__(self) -> None:
        if self.compaction_target_ratio >= self.compaction_threshold_ratio:
            raise ValueError(
                "`compaction_target_ratio` must be below `compaction_threshold_ratio`, "
                "or every turn would compact"
            )


class CognitionConfig(Struct, frozen=True):
    """How a turn is thought."""

    max_context_tokens: Annotated[int, Range(512)]
    reflex_max_tokens: Positive
    deliberate_max_tokens: Positive
    deliberate_thinking: bool
    router: RouterConfig
    loop: LoopConfig
    gate: GateConfig
    history_compression: HistoryCompressionConfig


class PromptConfig(Struct, frozen=True):
    """What goes into a prompt, and how much of it."""

    preamble_max_tokens: Count
    preamble_reflex_max_tokens: Count
    body_max_tokens: Count
    mood_in_system: bool
    bootstrap_files: tuple[str, ...]
    bootstrap_max_chars: Count
    bootstrap_total_max_chars: Count
    living_memory_max_lines: Count
    living_memory_max_tokens: Count
    reference_max_files: Count
    reference_max_bytes: Count
    topics: bool
    topics_max_tokens: Count
    topics_min_window_tokens: Count
    host_command: Annotated[tuple[str, ...], YOURS]


class SessionConfig(Struct, frozen=True):
    """When conversations end, and what they hand over."""

    idle_hours: Amount
    handover_min_quality: Share
    handover_aged_hours: Amount
    continuity_threshold: Share


class PrefetchConfig(Struct, frozen=True):
    """What the last messages together bring to mind."""

    messages: Positive
    max_results: Count
    excerpt_chars: Positive


class DeepRecallConfig(Struct, frozen=True):
    """What one deep recall may spend, and how long its answer is kept."""

    enough: Share
    steps: Positive
    sub_calls: Count
    step_seconds: Above
    max_tokens: Count
    max_dollars: Amount
    cache_seconds: Amount
    cache_entries: Count


class RecallConfig(Struct, frozen=True):
    """How memories are found and ranked."""

    late_interaction: bool
    lexical_weight: Share
    preamble_threshold: Share
    affinity: AffinityConfig
    prefetch: PrefetchConfig
    deep: DeepRecallConfig


class DreamsConfig(Struct, frozen=True):
    """When and what the entity dreams."""

    enabled: bool
    model: str
    temperature: Temperature
    max_tokens: Positive
    min_silence_seconds: Amount
    min_gap_seconds: Amount
    max_cycles_per_day: Count
    dream_hours: tuple[Annotated[int, Range(0, 23)], ...]
    empty_backoff_minutes: Amount
    memory_pair_count: Positive
    min_significance: Share
    min_time_gap_hours: Amount
    max_similarity: Annotated[float, Range(-1, 1)]
    band: Annotated[tuple[Share, ...], Length((0, 2))]
    write_journal: bool
    write_beliefs: bool
    belief_confidence: Annotated[float, Range(0, 0.99)]
    inject_noise: bool
    max_noise_fragments: Count

    def __post_init__(self) -> None:
        if self.band and self.band[0] >= self.band[1]:
            raise ValueError("the first percentile of `band` must be below the second")


class SomaSection(SomaConfig, frozen=True):
    """The body, and what it does at night."""

    dreams: DreamsConfig


class ToolCacheConfig(Struct, frozen=True):
    """Which tool results are kept for a while."""

    max_entries: Count
    ttl_seconds: Amount
    tools: tuple[str, ...]


class ServerConfig(Struct, frozen=True):
    """An MCP server whose tools the entity may use."""

    command: tuple[str, ...]
    variables: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    timeout_seconds: Above = 30.0

    def __post_init__(self) -> None:
        if not self.command or not self.command[0]:
            raise ValueError("`command` must name a program")


class ToolsConfig(Struct, frozen=True):
    """What the entity may use."""

    files: bool
    anchors: bool
    notes: bool
    deep_recall: bool
    projects: bool
    run_command: Annotated[bool, YOURS]
    command_timeout_seconds: Amount
    command_variables: Annotated[tuple[str, ...], OWNERS]
    output_max_tokens: Positive
    cache: ToolCacheConfig
    servers: Annotated[Mapping[str, ServerConfig], OWNERS]

    def __post_init__(self) -> None:
        for name in self.servers:
            if not SERVER_NAME.fullmatch(name):
                raise ValueError(
                    f"`servers.{name}` may only have a-z, 0-9, _ and -, and 32 of them"
                )


class LimitsConfig(Struct, frozen=True):
    """What may be spent."""

    passes_per_turn: Count
    settle: Literal["background", "wait", "later"]
    calls_per_turn: Positive
    tokens_per_day: Count | None
    lock_timeout_seconds: Amount


class AutomationsConfig(Struct, frozen=True):
    """The bounds of automations."""

    max_count: Count
    max_failures: Positive


class WakeConfig(Struct, frozen=True):
    """When the entity may wake by itself."""

    enabled: bool
    min_gap_seconds: Amount
    min_silence_seconds: Amount
    quiet_hours: tuple[Annotated[int, Range(0, 23)], ...]
    max_per_day: Count
    timer_minutes: Annotated[tuple[Amount, ...], Length((2,))]

    def __post_init__(self) -> None:
        if self.timer_minutes[0] > self.timer_minutes[1]:
            raise ValueError("the first of `timer_minutes` must not be above the second")


class GitConfig(Struct, frozen=True):
    """What is done with a folder under git."""

    autocommit: bool
    review: tuple[ReviewedCycle, ...]


class OutputConfig(Struct, frozen=True):
    """What is shown beside an answer."""

    usage: bool
    reasoning: bool


class LogConfig(Struct, frozen=True):
    """What is kept of model calls besides their counts."""

    prompts: bool


class IndexConfig(Struct, frozen=True):
    """Where the index of memories stands."""

    backend: Annotated[Literal["auto", "sqlite", "postgres"], OWNERS]
    url: Annotated[str, OWNERS]
    fallback: Annotated[Literal["none", "local"], OWNERS]


class Config(Struct, frozen=True):
    """Every setting."""

    language: Annotated[str, LanguageCode()]
    llm: LlmConfig
    embedding: EmbeddingConfig
    cognition: CognitionConfig
    prompt: PromptConfig
    session: SessionConfig
    recall: RecallConfig
    index: IndexConfig
    memory: MemoryConfig
    soma: SomaSection
    tools: ToolsConfig
    limits: LimitsConfig
    automations: AutomationsConfig
    wake: WakeConfig
    git: GitConfig
    output: OutputConfig
    log: LogConfig

    @property
    def body(self) -> BodyConfig:
        """What the body asks of the settings."""
        soma, memory = self.soma, self.memory
        return BodyConfig(
            soma=soma,
            appraisal=soma.appraisal,
            ebb=soma.ebb,
            endocrine=soma.endocrine,
            memory=memory,
            affinity=self.recall.affinity,
            significance=memory.significance,
            scalar=memory.relational.scalar,
        )


class Persona(Struct, frozen=True):
    """How the entity speaks of itself: `identity` in entity.yaml."""

    archetype: str = ""
    monologue: str = ""
    voice: str = ""
    traits: Mapping[str, Share] = field(default_factory=dict)
    behaviours: tuple[str, ...] = ()  # what it does when it talks with somebody
    curiosity: tuple[str, ...] = ()  # what it would like to know more about


class Owner(Struct, frozen=True):
    """The person an entity belongs to."""

    name: str = ""


class Identity(Struct, frozen=True):
    """Who the entity is: what entity.yaml holds besides settings. It comes from there alone."""

    schema_version: Positive
    name: str
    timezone: Annotated[str, TimeZone()] = "UTC"
    owner: Owner = Owner()
    identity: Persona = Persona()
