"""Train the reader's head and report: `uv run --group training python -m training --cache DIR`.

Writes weights with `--out FILE` and the report to standard output. Cut-offs are chosen on the
writers of the split `choose`; `test` is only reported; `sealed` only with `--sealed`. The same seed
gives the same head. An hour or two on two cores.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bumble.models.embed import reader
from bumble.models.weights import catalog, embedders
from training import head, labels
from training.features import Features
from training.labels import INTENTS, REPLIES, WISHES, Example

SURELY = 0.5  # of a wish a false one is worse than a missed one
Rows = NDArray[np.int64]
WISHED = 3  # times that who wrote wishes counts beside who wrote something else
LEARNED = ("train", "choose")  # splits that short replies and names are fitted to
INTRODUCE = INTENTS.index("introduce")


def f1(value: Any, right: Any, cut: float) -> tuple[float, float, float]:
    """Return F1, precision and recall of what lies above a cut-off."""
    said = value > cut
    hit = float((said & right).sum())
    precision = hit / max(1.0, float(said.sum()))
    recall = hit / max(1.0, float(right.sum()))
    return 2 * precision * recall / max(1e-9, precision + recall), precision, recall


def best_cut(value: Any, right: Any, beta: float = 1.0) -> float:
    """Return the cut-off with the best F; `beta` above 1 weighs recall."""

    def score(cut: float) -> float:
        _, precision, recall = f1(value, right, cut)
        return (1 + beta**2) * precision * recall / max(1e-9, beta**2 * precision + recall)

    return float(max(np.linspace(-6, 4, 101), key=score))


def rows_of(examples: Sequence[Example], split: str) -> Rows:
    """Return the rows of a split."""
    return np.array([n for n, one in enumerate(examples) if one.split == split], np.int64)


def report(
    examples: Sequence[Example], out: Any, rows: Rows, cuts: dict[str, float], name: str
) -> None:
    """Print what the outputs get right on some rows."""
    chosen = [examples[row] for row in rows]
    known = np.array([one.keep is not None for one in chosen])
    keep = np.array([bool(one.keep) for one in chosen])
    value = out["keep"][:, 0]
    line = " ".join(f"{x:.3f}" for x in f1(value[known], keep[known], cuts["keep"]))
    print(f"\n{name}: {len(rows)} messages; keep F1 P R {line}")
    for code in sorted({one.language for one in chosen}):
        here = known & np.array([one.language == code for one in chosen])
        if here.sum() > 20:
            print(f"  {code} {f1(value[here], keep[here], cuts['keep'])[0]:.3f} of {here.sum()}")
    flags = np.array([one.known_intents() for one in chosen])
    for column, intent in enumerate(INTENTS):
        there = flags[:, 1, column] > 0
        right = flags[:, 0, column] > 0
        if (right & there).sum() > 9:
            scores = f1(out["intent"][there, column], right[there], cuts[intent])
            print_scores(intent, scores, int(right[there].sum()))
    asked = np.array([bool(one.wish) for one in chosen])
    for column, wish in enumerate(WISHES):
        right = np.array([one.wish == wish for one in chosen])
        if (right & asked).sum() > 9:
            scores = f1(out["wish"][asked, column], right[asked], cuts[wish])
            print_scores(wish, scores, int(right.sum()))
            false = int((out["wish"][~asked, column] > cuts[wish]).sum())
            print(f"    {false} of {int((~asked).sum())} others")
    for column, grade in enumerate(head.GRADES):
        marked = np.array([one.heavy is not None for one in chosen])
        level = int(grade[-1])
        right = np.array(
            [((one.heavy if grade[0] == "h" else one.glad) or 0) >= level for one in chosen]
        )
        if (right & marked).sum() > 9:
            scores = f1(out["grade"][marked, column], right[marked], cuts[grade])
            print_scores(grade, scores, int(right[marked].sum()))


def report_replies(examples: Sequence[Example], out: Any, rows: Rows, name: str) -> None:
    """Print how often the surest short reply is one that fits."""
    known = [(n, examples[row]) for n, row in enumerate(rows) if examples[row].replies is not None]
    surest = [REPLIES[out["reply"][n].argmax()] for n, _ in known]
    fits = [said in (one.replies or ()) for said, (_, one) in zip(surest, known, strict=True)]
    print(f"  short replies of {name}: {np.mean(fits):.3f} of {len(known)} fit")
    for code in ("de", "en"):
        here = [fit for fit, (_, one) in zip(fits, known, strict=True) if one.language == code]
        print(f"    {code} {np.mean(here):.3f} of {len(here)}")


def print_scores(name: str, scores: Sequence[float], count: int) -> None:
    """Print F1, precision and recall of one output."""
    print(f"  {name}: F1 P R {' '.join(f'{score:.2f}' for score in scores)} of {count}")


def choose_cuts(examples: Sequence[Example], out: Any, rows: Rows) -> dict[str, float]:
    """Choose the cut-off of each output on writers that were not trained on."""
    chosen = [examples[row] for row in rows]
    known = np.array([one.keep is not None for one in chosen])
    keep = np.array([bool(one.keep) for one in chosen])
    cuts = {"keep": best_cut(out["keep"][known, 0], keep[known])}
    flags = np.array([one.known_intents() for one in chosen])
    for column, intent in enumerate(INTENTS):
        there, right = flags[:, 1, column] > 0, flags[:, 0, column] > 0
        beta = 3.0 if intent == "confide" else 1.0  # one in doubt is for its teller alone
        enough = (right & there).sum() > 9
        cuts[intent] = best_cut(out["intent"][there, column], right[there], beta) if enough else 0.0
    marked = np.array([one.heavy is not None for one in chosen])
    for column, grade in enumerate(head.GRADES):
        level = int(grade[-1])
        right = np.array(
            [((one.heavy if grade[0] == "h" else one.glad) or 0) >= level for one in chosen]
        )
        enough = (right & marked).sum() > 9
        cuts[grade] = best_cut(out["grade"][marked, column], right[marked]) if enough else 0.0
    wished = np.array([one.wishes() for one in chosen]) > 0
    asked = np.array([bool(one.wish) for one in chosen])
    for column, wish in enumerate(WISHES):
        cuts[wish] = best_cut(out["wish"][asked, column], wished[asked, column], SURELY)
    return cuts


def packed(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Store each matrix as 8-bit numbers with a scale a column; all else as it is."""
    out: dict[str, Any] = {}
    for name, values in arrays.items():
        if values.ndim == 2 and values.size > values.shape[0]:
            scale = np.maximum(np.abs(values).max(axis=0), 1e-8) / 127
            out[name] = np.round(values / scale).astype(np.int8)
            out[f"{name}.scale"] = scale.astype(np.float16)
        else:
            out[name] = values
    return out


def stored(params: head.Params, scale: head.Scale, cuts: dict[str, float]) -> dict[str, Any]:
    """Return a head as `models/embed/reader.py` reads it; the kinds were only for learning."""
    weights = {name: part for name, part in head.flat(params).items() if "kind." not in name}
    small = packed({**weights, "mean": scale.mean, "deviation": scale.deviation})
    small = {n: v.astype(np.float16) if v.dtype == np.float32 else v for n, v in small.items()}
    return small | {
        "cut_names": np.array(list(cuts)),
        "cuts": np.array(list(cuts.values()), np.float32),
        "intents": np.array(INTENTS),
        "replies": np.array(REPLIES),
        "wishes": np.array(WISHES),
    }


def begin(file: Path) -> tuple[head.Params, head.Scale]:
    """Read a stored head as one that is trained on."""
    with np.load(file) as stored:
        arrays = reader.unpacked({name: stored[name] for name in stored.files})
    scale = head.Scale(arrays.pop("mean"), arrays.pop("deviation"))
    parts = {n: v for n, v in arrays.items() if "." in n or n == "none"}
    fitted = ("own.", "wish.")
    begun = head.nested({n: v for n, v in parts.items() if not n.startswith(fitted)})
    return begun, scale


def main() -> None:
    """Train, choose cut-offs, report, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="where features are kept")
    parser.add_argument("--weights", type=Path, help="folder of bumble's weights")
    parser.add_argument("--embedder", default="multilingual-e5-small")
    parser.add_argument("--out", type=Path, help="file to write the head to")
    parser.add_argument("--sealed", action="store_true", help="report the sealed split too")
    parser.add_argument("--epochs", type=int, default=head.EPOCHS)
    parser.add_argument("--joined", type=int, default=10_000, help="messages made of others")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--begin", type=Path, help="a head that is trained on, at a lower rate")
    parser.add_argument("--without", default="", help="languages left out of training")
    given = parser.parse_args()
    folder = given.weights or Path.home() / ".cache/bumble/weights"
    embedder = embedders.open_embedder(folder, catalog.load().entry(given.embedder))
    examples = [one for one in labels.read() if embedder.multilingual or one.language == "en"]
    examples += labels.joined(examples, given.joined, given.seed)
    features, right = Features(embedder, examples, given.cache), head.targets(examples)
    rows = rows_of(examples, "train")
    rows = np.array(
        [row for row in rows if examples[row].language not in given.without.split(",")], np.int64
    )
    begun, scale = begin(given.begin) if given.begin else (None, head.scale_of(features, rows))
    data = head.data_of(features, scale)
    options = {"seed": given.seed, "epochs": given.epochs, "begun": begun}
    weights = head.train(data, right, rows, examples, **options)
    learned = np.array([row for row, one in enumerate(examples) if one.split in LEARNED], np.int64)
    read = head.predict(weights, data, learned)["features"]
    answered = [n for n, row in enumerate(learned) if examples[row].replies is not None]
    often = [3 if examples[learned[n]].writer in labels.ANSWERED else 1 for n in answered]
    taught = np.repeat(answered, often)
    weights["reply"] = head.fit_output(read[taught], right.reply[learned[taught], :, 0])
    named = [n for n, row in enumerate(learned) if examples[row].known_intents()[1][INTRODUCE]]
    own = right.intent[learned[named], INTRODUCE, :1]
    weights["own"] = head.fit_output(read[named], own)
    taught = np.array(
        [
            n
            for n, row in enumerate(learned)
            for _ in range(WISHED if examples[row].wish else 1)
            if examples[row].split == "train" and (examples[row].wish or examples[row].intents)
        ]
    )
    wished = np.array([examples[row].wishes() for row in learned[taught]], np.float32)
    weights["wish"] = head.fit_output(read[taught], wished)
    wanted = ["choose", "test", *(["sealed"] if given.sealed else [])]
    splits = {name: rows_of(examples, name) for name in wanted}
    outs = {name: head.predict(weights, data, part) for name, part in splits.items()}
    cuts = choose_cuts(examples, outs["choose"], splits["choose"])
    print("cut-offs:", {name: round(cut, 2) for name, cut in cuts.items()})
    for name, part in splits.items():
        report(examples, outs[name], part, cuts, name)
        report_replies(examples, outs[name], part, name)
    if given.out:
        np.savez_compressed(given.out, **stored(weights, scale, cuts))


if __name__ == "__main__":
    main()
