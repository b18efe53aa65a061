"""How much of what an entity says and keeps is true: planted lives lived by commands, and counted.

Lives the planted lives of `data/truth` by the commands of one bumble, keeps every output in a
folder a life, counts them, prints a table and writes it as JSON. `--count` counts what was lived
before, so that anybody can; several folders (before, after) stand beside each other.

    uv run python -m bench.truth --out OUT [--bumble PATH] [--model embedded:NAME|able]
                                 [--plans FOLDER] [--lives aylin,ravi] [--messages N]
    uv run python -m bench.truth --count OUT [OUT …] [--list] [--judge-sheet FILE]
                                 [--judged FILE FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from operator import itemgetter
from pathlib import Path

from msgspec.structs import asdict
from platformdirs import user_cache_path

from bench import truth_able, truth_counting, truth_judging, truth_living
from bench.truth_counting import Counts, Lived
from bench.truth_living import Living

COUNTED = "truth.json"


def live(arguments: argparse.Namespace) -> None:
    """Live some lives, one after another."""
    for name in arguments.lives.split(","):
        life = truth_living.planted(arguments.plans / f"{name}.yaml", arguments.messages)
        is_able = arguments.model == truth_able.MODEL
        with truth_able.serving(life) if is_able else nullcontext("") as base_url:
            living = Living(
                arguments.bumble.absolute(),
                (arguments.out / name).absolute(),
                arguments.model,
                user_cache_path("bumble") / "weights",
                base_url,
            )
            for line in truth_living.live(life, living):
                print(line, flush=True)


def lived_in(out: Path) -> list[Lived]:
    """Read all lives whose raw outputs lie in a folder."""
    return [truth_counting.read(path.parent) for path in sorted(out.glob(f"*/{truth_living.LIFE}"))]


def summed(lives: Sequence[Lived]) -> Counts:
    """Count some lives together."""
    whole = Counts()
    for lived in lives:
        counts = truth_counting.count(lived)
        for name, (cases, of) in counts.shares.items():
            before = whole.shares.get(name, (0, 0))
            whole.shares[name] = (before[0] + cases, before[1] + of)
        for name, lines in counts.lists.items():
            whole.lists.setdefault(name, []).extend(f"{lived.life.name} {line}" for line in lines)
    return whole


def show(columns: Mapping[str, Counts]) -> None:
    """Print the counts, a column for each group of lives."""
    names = list(dict.fromkeys(name for counts in columns.values() for name in counts.shares))
    width = max(map(len, names))
    print(" " * width + "".join(title.rjust(18) for title in columns))
    for name in names:
        cells = [_share(*counts.shares.get(name, (0, 0))) for counts in columns.values()]
        print(name.ljust(width) + "".join(cell.rjust(18) for cell in cells))


def _share(cases: float, of: float) -> str:
    return f"{cases:g} of {of:g} ({cases / of:.0%})" if of else "–"


def show_costs(columns: Mapping[str, Sequence[Lived]]) -> None:
    """Print what a message cost, on average, and how long the first, second and tenth took."""
    for title, lives in columns.items():
        cost = truth_counting.costs([turn for lived in lives for turn in lived.turns])
        print(
            f"{title}: a message: reply {cost.reply_cpu_seconds:.1f} CPU s, "
            f"{cost.reply_tokens[0]:.0f} tokens evaluated, {cost.reply_tokens[1]:.0f} written; "
            f"passes {cost.passes_cpu_seconds:.1f} CPU s, {cost.passes_tokens[0]:.0f} evaluated, "
            f"{cost.passes_tokens[1]:.0f} written"
        )
        for lived in lives:
            times = truth_counting.costs(lived.turns)
            first = ", ".join(f"{n}: {s:.1f}" for n, s in times.first_word_seconds.items())
            whole = ", ".join(f"{n}: {s:.1f}" for n, s in times.command_seconds.items())
            print(f"  {lived.life.name}: s to the first word, by message: {first}; in all: {whole}")


def show_judged(outs: Mapping[str, Sequence[Lived]], sheets: Sequence[Path]) -> None:
    """Print what two judges said of each group of lives, and how far they agree."""
    given = [truth_judging.verdicts(path) for path in sheets]
    for title, lives in outs.items():
        for path, verdicts in zip(sheets, given, strict=True):
            for asked, counter in truth_judging.shares(lives, verdicts).items():
                of = counter.total()
                cells = [f"{verdict} {_share(counter[verdict], of)}" for verdict in counter]
                print(f"{title}, {path.stem}, {asked}: {', '.join(cells) or 'nothing judged'}")
    for asked, (both, kappa) in truth_judging.agreement(*given).items():
        shown = "–" if kappa is None else f"{kappa:.2f}"
        print(f"agreement on {asked}: kappa {shown} of {both} judged by both")


def write(out: Path, lives: Sequence[Lived]) -> None:
    """Write the counts of some lives, and every statement with the messages nearest to it."""
    whole = summed(lives)
    report = {
        "shares": whole.shares,
        "cases": whole.lists,
        "costs": asdict(truth_counting.costs([turn for lived in lives for turn in lived.turns])),
        "statements": {
            lived.life.name: [asdict(each) for each in truth_counting.statements(lived)]
            for lived in lives
        },
    }
    text = json.dumps(report, indent=2, ensure_ascii=False)
    (out / COUNTED).write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Live, count and print."""
    arguments = _arguments()
    if arguments.out:
        live(arguments)
    outs = {out.name: lived_in(out) for out in arguments.count or [arguments.out]}
    columns = {title: summed(lives) for title, lives in outs.items()}
    if len(outs) == 1:
        [lives] = outs.values()
        columns = {lived.life.name: summed([lived]) for lived in lives} | columns
    show(columns)
    show_costs(outs)
    if arguments.list:
        for title, counts in columns.items():
            for name, lines in filter(itemgetter(1), counts.lists.items()):
                print(f"\n{title}, {name}:", *lines, sep="\n  ")
    for out in arguments.count or [arguments.out]:
        write(out, outs[out.name])
    every = [lived for lives in outs.values() for lived in lives]
    if arguments.judge_sheet:
        truth_judging.write(arguments.judge_sheet, truth_judging.sheet(every))
        print(f"to be judged: {arguments.judge_sheet}")
    if arguments.judged:
        show_judged(outs, arguments.judged)


def _arguments() -> argparse.Namespace:
    every = ",".join(sorted(path.stem for path in truth_living.LIVES.glob("*.yaml")))
    parser = argparse.ArgumentParser(description=__doc__)
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--out", type=Path, help="live, and keep the raw outputs here")
    place.add_argument("--count", type=Path, nargs="+", help="raw outputs of earlier runs")
    parser.add_argument("--bumble", type=Path, default=Path(sys.executable).with_name("bumble"))
    parser.add_argument(
        "--model", default="embedded:qwen2.5-coder-1.5b", help="`able`: one that writes well"
    )
    parser.add_argument("--plans", type=Path, default=truth_living.LIVES, help="where lives lie")
    parser.add_argument("--lives", default=every, help="their names, with commas between")
    parser.add_argument("--messages", type=int, help="the first so many of each")
    parser.add_argument("--list", action="store_true", help="print every case that was counted")
    parser.add_argument("--judge-sheet", type=Path, help="write a blind sheet for a judge")
    parser.add_argument("--judged", type=Path, nargs=2, help="two sheets that judges filled in")
    return parser.parse_args()


if __name__ == "__main__":
    main()
