"""The runtime of one entity: settings, model, memory, clock and chance, for turns and jobs."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from zoneinfo import ZoneInfo

from msgspec import Struct, field

from bumble.entity import changes, commits, folder, review_branch
from bumble.entity.config import Config, Identity, PromptConfig
from bumble.errors import RecordInvalidError, RefusedError
from bumble.llm import ledger, protocol
from bumble.models.tiers import ABLE, Abilities
from bumble.runtime import review_queue

if TYPE_CHECKING:
    from bumble.index.memory import Memory  # a runtime is handed one: nothing of it is used here
    from bumble.runtime.job import JobResult

# A model elsewhere is shown so many times what is recalled for others, from such a window on.
LARGE_WINDOW_TOKENS, LARGE_TIMES = 32_000, 3

Plan = Callable[[], changes.Change | None]  # made when it is applied; None: nothing to write


class Result(Struct, frozen=True):
    """What came of a call of a tool."""

    text: str
    failed: bool = False
    refused: bool = False  # a rule did not let it, and nothing is wrong with the tool
    found: bool = False  # whether it is memories, which answer a question
    plans: tuple[Plan, ...] = ()  # what it wants written, one file each
    trust: str = ""  # the lowest tier among what it found, if it is a quoted one


T = TypeVar("T")
ProfileName = Literal["reflex", "deliberate"]  # of a turn: how much it is worth thinking about
TEMPERATURE = 0.7  # for models of which the catalog knows nothing


class Runtime(Struct, frozen=True):
    """The runtime of one entity: its folder, settings, model, memory, clock and chance."""

    entity: folder.Entity
    identity: Identity
    config: Config
    model: protocol.Model
    memory: Memory
    clock: Callable[[], datetime]
    rng: random.Random
    writes: bool = True  # False: incognito, the folder is not touched
    environ: Mapping[str, str] = field(default_factory=dict)  # for programs the entity runs
    # what the model can be trusted with, looked up where it is asked for: most cycles never do
    abilities: Callable[[], Abilities] = lambda: ABLE
    trusted: bool = False  # whether what came with the folder may run programs
    local: bool = False  # whether the model runs in this process, where reading takes its time
    temperature: float = TEMPERATURE  # what suits the model, unless the settings name another
    tell: Callable[[str], None] = lambda _: None  # hears what a person should know
    show: Callable[[str], None] | None = None  # prints a line for the owner; None: nobody sees it
    outside: Any = None  # tools of other programs that the owner lists, `chat.mcp_servers.Servers`
    # distills what a compaction takes out of view, of it at most so many windows; a job, above here
    flush: Callable[[Any, JobResult, int], JobResult] | None = None

    said_once: set[str] = field(default_factory=set)  # of what `tell` hears, by this process

    def read_or(self, read: Callable[[], T], instead: T) -> T:
        """Read a file for a talk; one that a hand has broken is left out, and that is said once."""
        try:
            return read()
        except RecordInvalidError as error:
            self.say_left_out(str(error))
            return instead

    def say_left_out(self, problem: str) -> None:
        """Say that a file is left out of a talk, and why; once."""
        if problem not in self.said_once:
            self.said_once.add(problem)
            self.tell(f"left out: {problem}")

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.identity.timezone)

    @property
    def window_tokens(self) -> int:
        """The context window: the model's, unless the settings allow less."""
        limit = self.config.cognition.max_context_tokens
        return min(limit, self.model.context_tokens or limit)

    @property
    def times_recalled(self) -> int:
        """How many times the default of what is recalled a prompt takes, where none is set."""
        is_large = (
            not self.local
            and not self.model.name.startswith("ollama:")  # which may read as slowly
            and self.window_tokens >= LARGE_WINDOW_TOKENS
            and self.config.prompt.preamble_max_tokens == PromptConfig().preamble_max_tokens
        )
        return LARGE_TIMES if is_large else 1

    @property
    def token_ratio(self) -> float:
        """How many tokens the model counts for one we estimate, by its newest chats."""
        return ledger.token_ratio(self.entity.ledger, self.model.name)

    def now(self) -> datetime:
        """The present, in the entity's time zone."""
        return self.clock().astimezone(self.zone)

    def apply(self, change_set: changes.ChangeSet) -> list[Path]:
        """Write a change set, all of it or nothing; in a git folder it becomes a commit.

        The one door of all that the entity writes by itself: no secret gets through, and what is
        to be reviewed goes onto a branch of its own.

        Raises:
            FileChangedError: If a file moved on since it was read.
            MergeUnfinishedError: If a file holds the two sides of a merge.
            ReviewError: If it is to be reviewed, and there is nowhere to put it.
        """
        policy = commits.CommitPolicy(
            self.config.git.autocommit, self.identity.name, self.now, self.tell, self.trusted
        )
        timeout = self.config.limits.lock_timeout_seconds
        cleared = review_queue.cleared(change_set, self.entity.root)
        write = review_queue.propose if self.holds_back(cleared) else commits.apply
        return write(self.entity.root, cleared, policy, timeout_seconds=timeout)

    def apply_one(self, title: str, plan: Plan) -> bool:
        """Plan one change while nobody else writes, and write it; its reason ends the title.

        Returns:
            Whether there was anything to write.

        Raises:
            RefusedError: If nothing may be written.
            UserError: As `apply` does.
        """
        if not self.writes:
            raise RefusedError("nothing may be written now")
        root, timeout = self.entity.root, self.config.limits.lock_timeout_seconds
        with changes.held(root, timeout_seconds=timeout):
            changes.recover(root)
            if (change := plan()) is not None:
                self.apply(changes.ChangeSet(f"{title}: {change.why}", (change,)))
        return change is not None

    def holds_back(self, change_set: changes.ChangeSet) -> bool:
        """Whether a change set waits for the owner's word, instead of being written."""
        return review_queue.is_held(change_set, self.config.git.review)

    def check_review(self, cycle: str) -> None:
        """See to it that what a cycle writes can be held back, before a model is asked for it.

        Raises:
            ReviewError: If it is to be, and can't.
        """
        if cycle in self.config.git.review:
            review_branch.place_of(self.entity.root, cycle, trusted=self.trusted)
