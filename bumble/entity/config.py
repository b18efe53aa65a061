"""Every setting: its type, range and default, and in its comment what it does.

A field's name is its name in the files: `config.memory.relational…`. The comment on its line, or
the lines above it, is what docs/settings.md says of it. Settings may stand in (later wins) the
user's own `~/.config/bumble/config.yaml`, the entity's `entity.yaml`, the environment (`BUMBLE_`
and the name, dots as underscores) and flags of the command. Knows nothing of where values are from.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from bumble import patterns
from bumble.body.config import FeltMemoryConfig, Temperament
from bumble.text.schema import (
    LANGUAGE_CODE,
    TIME_ZONE,
    Above,
    Amount,
    Count,
    Positive,
    Share,
    Temperature,
)


class SettingGroup(Struct, frozen=True, forbid_unknown_fields=True):
    """What stands under one name; a key that it does not know is an error."""


class RelationalConfig(SettingGroup, frozen=True):
    """Portraits of people."""

    enabled: bool = True  # false: numbers only
    reflection_temperature: Temperature = 0.4  # of the model that writes about a stretch of talk
    reflection_max_tokens: Positive = 800  # of a portrait in an answer
    reflection_min_gap_seconds: Amount = 30  # no effect: portraits come with their stretch
    score_derivation: bool = True  # scores come with a portrait
    flush_to_disk: bool = True  # portraits are files; false keeps the scores only
    max_context_tokens: Count = 800  # most of a portrait that enters a prompt
    deep_review_on_consolidation: bool = True  # review whole portraits while consolidating
    deep_review_min_new_interactions: Positive = 3  # exchanges with a person since the last review
    deep_review_max_tokens: Positive = 1200  # longest answer of a review
    amendment_mode_threshold: Share = 0.3  # no effect: portraits are written whole
    gen_recent_hours: Amount = 24  # portraits touched since then colour the noise
    gen_tail_sentences: Count = 3  # last sentences of such a portrait that are taken


class DistillationConfig(SettingGroup, frozen=True):
    """What ordinary conversation leaves behind."""

    enabled: bool = True  # draw facts and beliefs from conversations
    cycle_seconds: Amount = 300  # time gate
    min_turns: Positive = 6  # or this many new turns
    min_turns_absolute: Count = 4  # never fire below this history depth
    # what the most charged conversation divides min_turns by
    soma_urgency_divisor: Annotated[float, Meta(ge=1, le=1000)] = 1.5
    max_extract_tokens: Positive = 800  # of facts and beliefs in an answer
    temperature: Temperature = 0.15  # of an answer without portraits
    context_char_budget: Positive = 6000  # of the conversation that one extraction reads


class MemoryConfig(FeltMemoryConfig, frozen=True):
    """What is remembered, how it fades and how it is recalled."""

    episode_significance_threshold: Share = 0.3  # below, an event becomes no episode
    max_recall_results: Positive = 10  # memories of one search
    # or 512, 256, 128, 64; a model with fewer gives what it has
    embedding_dimensions: Literal[768, 512, 256, 128, 64] = 768
    # consolidations after which the self-story is told anew
    narrative_every_n_consolidations: Positive = 3
    episode_pause_minutes: Amount = 30  # silence that closes an episode
    episode_max_turns: Positive = 12  # turns that close an episode
    relational: RelationalConfig = RelationalConfig()
    distillation: DistillationConfig = DistillationConfig()


class BarsConfig(SettingGroup, frozen=True):
    """The five bars."""

    levels: Temperament = Temperament()


class HormonesConfig(SettingGroup, frozen=True):
    """The three hormones."""

    # false: drive, strain and closeness stand for the hormones' names
    show_names: bool = True


class NoiseConfig(SettingGroup, frozen=True):
    """The ring of stray thoughts."""

    interval_seconds: Amount = 90  # between two stray thoughts


class AnchorsConfig(SettingGroup, frozen=True):
    """Anchors: states of the body that it can come back to."""

    # a charged turn makes one, words or a like body recall one; 15 minutes apart
    by_itself: bool = True


class DreamsConfig(SettingGroup, frozen=True):
    """When and what the entity dreams."""

    enabled: bool = False  # opt-in (LLM calls during idle)
    model: str = ""  # empty: the entity's own
    temperature: Temperature = 1.15  # high temp for surreal/creative output
    max_tokens: Positive = 500  # room for 3-6 dream fragments
    min_silence_seconds: Amount = 3600  # must be idle this long before dreaming
    min_gap_seconds: Amount = 14400  # minimum 4 hours between dream cycles
    max_cycles_per_day: Count = 2  # hard cap
    dream_hours: tuple[Annotated[int, Meta(ge=0, le=23)], ...] = (0, 1, 2, 3, 4, 5)  # local time
    memory_pair_count: Positive = 3  # how many distant pairs to dream about
    min_time_gap_hours: Amount = 24  # memories must be at least this far apart
    # likeness above which a pair is too related
    max_similarity: Annotated[float, Meta(ge=-1, le=1)] = 0.35
    # instead of max_similarity: percentiles of the entity's own pairs, e.g. [0.80, 0.99]
    band: tuple[Share, ...] = ()
    write_journal: bool = True  # write dream summary to journal.md
    write_beliefs: bool = True  # extract novel connections as low-confidence beliefs
    # confidence for dream-derived beliefs
    belief_confidence: Annotated[float, Meta(ge=0, le=0.99)] = 0.35
    inject_noise: bool = True  # push [dream] fragments into the noise
    max_noise_fragments: Count = 2  # of one dream

    def __post_init__(self) -> None:
        if len(self.band) not in (0, 2):
            raise ValueError("`band` needs two percentiles, or none")
        if self.band and self.band[0] >= self.band[1]:
            raise ValueError("the first percentile of `band` must be below the second")


class SomaConfig(SettingGroup, frozen=True):
    """The body."""

    bars: BarsConfig = BarsConfig()
    hormones: HormonesConfig = HormonesConfig()
    noise: NoiseConfig = NoiseConfig()
    anchors: AnchorsConfig = AnchorsConfig()
    dreams: DreamsConfig = DreamsConfig()


NAMELESS = "Friend"  # an owner of whom neither git nor the system knows a name

# Who may make a setting that reaches beyond the folder.
# In an entity.yaml it counts only where the user's own config trusts the folder, so that an entity
# that arrives by clone can't send the user's key elsewhere or start programs.
YOURS = "yours"
OWNERS = "yours alone"  # only the user's own config may make it, whomever it trusts

SERVER_NAME = patterns.compile("[a-z][a-z0-9_-]{0,31}")
Language = Annotated[
    str,
    Meta(
        pattern=rf"\A(auto|{LANGUAGE_CODE})\Z",
        description="that is auto or a language's code, like de",
    ),
]
Tiers = Mapping[str, Literal["none", "choose", "write"]]  # by language: `de`, or `any`
Window = Annotated[int, Meta(ge=512)]
Hours = tuple[Annotated[int, Meta(ge=0, le=23)], ...]
# What a talk needs at once is never held back: its words, the body, what was cut from it. What may
# be is called as its commits are (`cli/registry.cycles`), and a test holds the names to that.
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


class AbilitiesConfig(SettingGroup, frozen=True):
    """What a model is trusted with, whatever was measured: {de: write, any: choose}."""

    # write, choose (it does tasks and drafts, which are checked) or none (it is not asked), by
    # language; an untrusted folder's entity.yaml may only lower it
    talk: Tiers = field(default_factory=dict)
    # write, or choose and none (what is kept stands in quotes)
    memory: Tiers = field(default_factory=dict)


class PricesConfig(SettingGroup, frozen=True):
    """Dollars for a million tokens; null: not known, and no limit in dollars."""

    prompt: Amount | None = None  # that it reads
    completion: Amount | None = None  # that it writes


class LlmConfig(SettingGroup, frozen=True):
    """Which chat model answers, and how it is reached."""

    # auto, or as `bumble model list` names them; with provider or base_url: its name for it
    model: str = "auto"
    # a provider's address and its own key variable
    provider: Annotated[
        Literal["none", "openai", "anthropic", "gemini", "openrouter", "mistral", "groq"], OWNERS
    ] = "none"
    # goes before provider: an OpenAI-compatible endpoint, e.g. https://api.example.com/v1
    base_url: Annotated[str, YOURS] = ""
    # the environment variable, or the entry of your secrets file, with its key
    api_key_env: Annotated[str, YOURS] = "OPENAI_API_KEY"
    ollama_url: Annotated[str, YOURS] = "http://127.0.0.1:11434"  # where Ollama listens
    # asked for a server when model is auto
    probe_urls: Annotated[tuple[str, ...], YOURS] = (
        "http://127.0.0.1:8080/v1",
        "http://127.0.0.1:1234/v1",
    )
    # window to ask of Ollama and the embedded engine; null: cognition.max_context_tokens
    context_tokens: Window | None = None
    # null: what suits the model; small ones lose the thread where it is high
    temperature: Temperature | None = None
    # an endpoint enforces that answers are actions; auto: it is only told, plain text will do
    tool_choice: Literal["required", "auto"] = "required"
    connect_timeout_seconds: Amount = 5  # until a server must have answered the call
    # a long prompt on a slow processor takes minutes
    first_token_timeout_seconds: Amount = 600
    silence_timeout_seconds: Amount = 60  # between two tokens
    # evaluated prompts kept on disk for each entity by the embedded engine; 0 keeps none
    prompt_cache_megabytes: Count = 1024
    prices: PricesConfig = PricesConfig()
    abilities: AbilitiesConfig = AbilitiesConfig()


class EmbeddingConfig(SettingGroup, frozen=True):
    """Which model turns text into vectors."""

    # auto: the one that embedded what was said so far; for an owner who speaks another language
    # than English multilingual-e5-small; else nomic-embed-text-v1.5 if pulled, else
    # all-minilm-l6-v2; none: search by words only
    model: str = "auto"
    similarity: Literal["calibrated", "raw"] = "calibrated"  # what thresholds of likeness apply to


class LoopConfig(SettingGroup, frozen=True):
    """The bounds of the agent loop."""

    # 0 to 16; steps in all are max(6, min(25, 6 + rounds))
    max_tool_rounds: Annotated[int, Meta(ge=0, le=16)] = 8


class GateConfig(SettingGroup, frozen=True):
    """The completion gate."""

    enabled: bool = True  # see before a turn ends whether the work was done
    # ask a model so: auto where it can tell and thinks about the turn, always, never (rules only)
    judge: Literal["auto", "always", "never"] = "auto"
    max_continues: Count = 2  # times a turn may be sent back to work


class HistoryCompressionConfig(SettingGroup, frozen=True):
    """How long conversations are kept within the window."""

    enabled: bool = True  # false: a conversation only loses what no longer fits
    # or small: from 70 %, summaries of 500 words, of 200 above 85 %
    preset: Literal["standard", "small"] = "standard"
    # of what got too long, before a turn: by the model; excerpt (the lines that say most, at
    # once); auto: excerpt with an embedded model, which would take minutes while somebody waits
    summary: Literal["auto", "model", "excerpt"] = "auto"
    compaction_threshold_ratio: Share = 0.75  # of the window from which the middle is summed up
    compaction_target_ratio: Share = 0.20  # share it should take afterwards
    compaction_protect_last_n: Count = 12  # newest messages that stay as they are
    compaction_protect_first_n: Count = 2  # oldest messages that stay as they are
    compaction_max_passes: Count = 3  # summaries made one after the other, at most
    compaction_flush_to_knowledge: bool = True  # distill what is about to be summed up first

    def __post_init__(self) -> None:
        if self.compaction_target_ratio >= self.compaction_threshold_ratio:
            raise ValueError(
                "`compaction_target_ratio` must be below `compaction_threshold_ratio`, "
                "or every turn would compact"
            )


class CognitionConfig(SettingGroup, frozen=True):
    """How a turn is thought."""

    max_context_tokens: Window = 32768  # most of a model's window that is used
    reflex_max_tokens: Positive = 512  # longest answer of a reflex
    deliberate_max_tokens: Positive = 4096  # longest answer of a turn that is thought about
    deliberate_thinking: bool = True  # let the model reason first, where it can
    loop: LoopConfig = LoopConfig()
    gate: GateConfig = GateConfig()
    history_compression: HistoryCompressionConfig = HistoryCompressionConfig()


class PromptConfig(SettingGroup, frozen=True):
    """What goes into a prompt, and how much of it."""

    # what is recalled for one message: three times this default where a model elsewhere, but
    # for Ollama's, has a window of 32,000 tokens; on a CPU each hundred is seconds
    preamble_max_tokens: Count = 700
    preamble_reflex_max_tokens: Count = 200  # likewise for a reflex
    body_max_tokens: Count = 180  # of these, for the body; it needs them only when it is loud
    # true: mood in the stable part; every change of mood then re-evaluates the history
    mood_in_system: bool = False
    # put into the prompt if there
    bootstrap_files: tuple[str, ...] = (
        "GENOME.md",
        "PROTOCOLS.md",
        "TOOLS.md",
        "HEARTBEAT.md",
        "working/MEMORY.md",
    )
    bootstrap_max_chars: Count = 20000  # of one file
    bootstrap_total_max_chars: Count = 24000  # of all of them together
    topics: bool = True  # the questions that topics keep raising (`bumble catalysts` draws them)
    topics_min_window_tokens: Count = 16000  # a smaller window is left to the conversation
    # program and arguments whose output tells the entity about this machine
    host_command: Annotated[tuple[str, ...], YOURS] = ()


class SessionConfig(SettingGroup, frozen=True):
    """When conversations end, and what they hand over."""

    idle_hours: Amount = 6  # a one-off chat after this opens a new session
    # likeness of the first message to the brief below which it stays out
    continuity_threshold: Share = 0.25


class DeepRecallConfig(SettingGroup, frozen=True):
    """What one deep recall, several searches and readings for one question, may spend."""

    steps: Positive = 15  # calls of the model for one plan
    step_seconds: Above = 30  # of one step
    max_tokens: Count = 60000  # prompts and answers of one plan together
    max_dollars: Amount = 0.5  # of one plan, where llm.prices says what tokens cost


class RecallConfig(SettingGroup, frozen=True):
    """How memories are found and ranked."""

    preamble_threshold: Share = 0.3  # likeness a memory needs to enter a prompt unasked
    deep: DeepRecallConfig = DeepRecallConfig()


class IndexConfig(SettingGroup, frozen=True):
    """Where the index of memories stands."""

    # sqlite: memory.db in the folder; postgres: a server; auto: postgres where there is a url
    backend: Annotated[Literal["auto", "sqlite", "postgres"], OWNERS] = "auto"
    # its address: postgresql://USER@HOST/DATABASE; in the environment BUMBLE_INDEX_URL
    url: Annotated[str, OWNERS] = ""
    # while the server is away: none: searching fails; local: memory.db stands in
    fallback: Annotated[Literal["none", "local"], OWNERS] = "none"


class ServerConfig(SettingGroup, frozen=True):
    """An MCP server whose tools the entity may use."""

    command: tuple[str, ...]
    variables: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    timeout_seconds: Above = 30.0

    def __post_init__(self) -> None:
        if not self.command or not self.command[0]:
            raise ValueError("`command` must name a program")


class ToolsConfig(SettingGroup, frozen=True):
    """What the entity may use."""

    files: bool = False  # let the entity read and write files in its workspace
    # let the entity make and recall anchors of its body; two tools more in every prompt
    anchors: bool = False
    notes: bool = False  # let the entity jot down notes for later; one tool more in every prompt
    # let the entity look deeper, by several searches; one tool more in every prompt
    deep_recall: bool = True
    projects: bool = False  # let the entity list and update projects; two tools more
    # let the entity run programs in its workspace
    run_command: Annotated[bool, YOURS] = False
    command_timeout_seconds: Amount = 60  # of one program
    # variables that programs get besides PATH, HOME, language, display
    command_variables: Annotated[tuple[str, ...], OWNERS] = ()
    # MCP servers whose tools it may use in talks with you alone; by name:
    # {command: [PROGRAM, ARGUMENT], variables: [], tools: [], words: [], timeout_seconds: 30};
    # variables: what it gets besides PATH, HOME, language; from your environment or secrets file;
    # tools: the only ones it may use, none: those that say they change nothing;
    # words: started for a message with one of them or its name, none: whatever is thought about
    servers: Annotated[Mapping[str, ServerConfig], OWNERS] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.servers:
            if not SERVER_NAME.fullmatch(name):
                raise ValueError(
                    f"`servers.{name}` may only have a-z, 0-9, _ and -, and 32 of them"
                )


class LimitsConfig(SettingGroup, frozen=True):
    """What may be spent."""

    # reflections and the like after an answer; the rest waits for `bumble tick`
    passes_per_turn: Count = 2
    # where these run: background, wait (the shell comes back after them), or later
    settle: Literal["background", "wait", "later"] = "background"
    # model calls, also of one run of `tick`; beyond, optional ones are left for later
    calls_per_turn: Positive = 40
    tokens_per_day: Count | None = None  # null: no limit
    lock_timeout_seconds: Amount = 10  # to wait for another process that writes


class WakeConfig(SettingGroup, frozen=True):
    """When the entity may wake by itself."""

    enabled: bool = False  # the entity may wake by itself: `tick` and `bumble wake`
    min_gap_seconds: Amount = 1800  # between two wakes
    min_silence_seconds: Amount = 120  # nobody has spoken for so long
    quiet_hours: Hours = (22, 23, 0, 1, 2, 3, 4, 5)  # it does not wake then, and addresses nobody
    max_per_day: Count = 12  # wakes
    # after the last wake; longer where wakes came close together
    timer_minutes: tuple[Amount, ...] = (20, 45)

    def __post_init__(self) -> None:
        if len(self.timer_minutes) != 2 or self.timer_minutes[0] > self.timer_minutes[1]:
            raise ValueError("`timer_minutes` needs two numbers, the first not above the second")


class GitConfig(SettingGroup, frozen=True):
    """What is done with a folder under git."""

    autocommit: bool = True  # in a git folder each change set is one commit
    # cycles that wait for `bumble review`: distill, dream, …
    review: tuple[ReviewedCycle, ...] = ()


class OutputConfig(SettingGroup, frozen=True):
    """What is shown beside an answer."""

    usage: bool = False  # a line with tokens and seconds after each answer
    reasoning: bool = False  # show what the model thought


class LogConfig(SettingGroup, frozen=True):
    """What is kept of model calls besides their counts."""

    # keep full prompts and answers in .bumble/log/prompts.jsonl; they hold the conversation
    prompts: bool = False


class Config(SettingGroup, frozen=True):
    """Every setting."""

    # that people are spoken to in: auto: what each speaks; de, fr, …: always; a portrait's own
    # goes first
    language: Language = "auto"
    llm: LlmConfig = LlmConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()
    cognition: CognitionConfig = CognitionConfig()
    prompt: PromptConfig = PromptConfig()
    session: SessionConfig = SessionConfig()
    recall: RecallConfig = RecallConfig()
    index: IndexConfig = IndexConfig()
    memory: MemoryConfig = MemoryConfig()
    soma: SomaConfig = SomaConfig()
    tools: ToolsConfig = ToolsConfig()
    limits: LimitsConfig = LimitsConfig()
    wake: WakeConfig = WakeConfig()
    git: GitConfig = GitConfig()
    output: OutputConfig = OutputConfig()
    log: LogConfig = LogConfig()


@cache
def defaults() -> Mapping[str, Any]:
    """Return the defaults as a file would hold them."""
    plain: Mapping[str, Any] = msgspec.json.decode(msgspec.json.encode(Config()))
    return plain


class Persona(SettingGroup, frozen=True):
    """How the entity speaks of itself: `identity` in entity.yaml."""

    archetype: str = ""
    monologue: str = ""
    voice: str = ""
    traits: Mapping[str, Share] = field(default_factory=dict)
    behaviours: tuple[str, ...] = ()  # what it does when it talks with somebody
    curiosity: tuple[str, ...] = ()  # what it would like to know more about


class Owner(SettingGroup, frozen=True):
    """The person an entity belongs to."""

    name: str = ""


class Identity(SettingGroup, frozen=True):
    """Who the entity is: what entity.yaml holds besides settings. It comes from there alone."""

    schema_version: Positive
    name: str
    timezone: Annotated[str, TIME_ZONE] = "UTC"
    owner: Owner = Owner()
    identity: Persona = Persona()

    def named(self, text: str, person: str = "") -> str:
        """Put names in the place of a character card's macros: its own, and the owner's.

        Args:
            text: Words of a card.
            person: For whom they are, where that isn't the owner.
        """
        text = text.replace("{{char}}", self.name)
        return text.replace("{{user}}", person or self.owner.name or "you")
