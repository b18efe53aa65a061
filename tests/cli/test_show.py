from __future__ import annotations

import json
from pathlib import Path

from tests.support import exports
from tests.support.living import talked
from tests.support.running import Run

AT = "2026-05-24T09:00:00+01:00"


def lived(run: Run) -> Run:
    """This morning Sam and Bo talked; in May something happened, and Bo told something alone."""
    talked(run.entity, "ses_1", ("sam", "My boat floats."), ("ada", "At last!"))
    run.write(
        "episodes/2026/05/ep_01KSA0000000000000000000E1.md",
        f"---\nat: {AT}\nsignificance: 0.5\npeople: [sam]\n---\n\n# Boat\n\nSam's boat floats.\n",
    )
    run.write(
        "beliefs/bel_01KSA0000000000000000000B2.md",
        f"---\ncategory: world_fact\nconfidence: 0.8\nformed: {AT}\naudience: [bo]\n---\n\n"
        "Bo hides the gold.\n",
    )
    run.write("relationships/sam.md", "---\nnames: [Sam, Sammy]\n---\n\nA sailor with a dog.\n")
    run.write("relationships/bo.md", "---\nnames: [Bo]\naudience: [bo]\n---\n\nA pirate.\n")
    return run


def test_a_day_is_one_screen_without_ids(run: Run) -> None:
    shown = lived(run).ok("show", "--now", "2026-05-24T20:00").out
    for words in ("with Sam: My boat floats.", "What happened", "Boat: Sam's boat floats."):
        assert words in shown, words
    assert not any(prefix in shown for prefix in ("ses_", "ep_", "bel_", "msg_"))
    assert (
        "gold" not in shown and "gold" in run.ok("show", "--all", "--now", "2026-05-24T20:00").out
    )
    assert len(shown.splitlines()) <= 24


def test_of_a_full_week_the_newest_are_shown_behind_how_many_came_before(run: Run) -> None:
    for n in range(10):
        run.write(
            f"episodes/2026/05/ep_01KSA0000000000000000000E{n}.md",
            f"---\nat: 2026-05-24T{10 + n}:00:00+01:00\n---\n\n# Knot {n}\n\nTied.\n",
        )
    lines = run.ok("show", "week", "--now", "2026-05-24T20:00").out.splitlines()
    earlier, first, *_ = lines[lines.index("What happened") + 1 :]
    assert "2 earlier" in earlier and "Knot 2" in first and "Knot 9" in lines[-1]


def test_what_was_imported_and_a_greeting_are_no_talks(run: Run, tmp_path: Path) -> None:
    note = tmp_path / "vault" / "Boat.md"
    note.parent.mkdir()
    note.write_text("---\ndate: 2026-05-24\n---\n\nBerth 47.\n")
    run.ok("import", str(note.parent), "--format", "obsidian")
    export = json.dumps([exports.gpt_moving()])
    (tmp_path / "conversations.json").write_text(export)
    run.ok("import", str(tmp_path / "conversations.json"))
    (tmp_path / "card.json").write_text(json.dumps(exports.card()))
    run.ok("import", str(tmp_path / "card.json"))
    shown = run.ok("show").out
    assert "Talked" not in shown and "Hello Sam." not in shown
    assert "Imported\n" in shown and "Boat" in shown and "with Sam" not in shown
    data = run.ok("show", "--json").data
    assert (data["session"], [one["title"] for one in data["imported"]]) == ([], ["Boat"])
    report = tmp_path / "life.html"
    counts = run.ok("report", str(report), "--json").data["counts"]
    assert (counts["imported"], counts["unanswered"]) == (2, 1)
    page = report.read_text()
    assert '<strong class="kind">Imported</strong>' in page and "Hello Sam." in page
    assert '<strong class="kind">Talk</strong>' not in page
    script = run.write("workspace/script.jsonl", '{"text": "Hi.", "always": true}\n')
    run.environ["BUMBLE_LLM_MODEL"] = f"script:{script}"
    run.ok("chat", "--session", "last", "Good morning.")
    assert "with Sam: Good morning." in run.ok("show").out


def test_a_talk_of_which_the_words_are_gone_has_a_title(run: Run) -> None:
    talked(run.entity, "ses_1", ("sam", ""), ("ada", ""))
    assert "with Sam: 2 messages" in run.ok("show", "--now", "2026-05-24T20:00").out


def test_a_person_is_shown_as_the_owner_may_see_them(run: Run) -> None:
    shown = lived(run).ok("show", "sammy").out
    assert shown.startswith("Sam, also Sammy") and "A sailor with a dog." in shown
    assert "Sam's boat floats." in shown
    assert "pirate" not in run.ok("show", "Bo").out
    assert "pirate" in run.ok("show", "Bo", "--all").out
    assert run("show", "Nobody").code == 1


def test_what_was_lived_in_another_year_is_shown_with_it(run: Run) -> None:
    lived(run).ok("episode", "add", "Sam was born.", "--at", "1951-03-17")
    shown = run.ok("show", "Sam").out
    assert "  17 Mar 1951  Sam was born.\n" in shown
    assert "  24 May  Boat: Sam's boat floats.\n" in shown
    assert "  24 May 2026  Boat" in run.ok("show", "Sam", "--now", "2027-01-02").out


def test_what_somebody_shared_is_shown_though_how_it_sees_them_is_theirs(run: Run) -> None:
    lived(run)
    run.write(
        "episodes/2026/05/ep_01KSA0000000000000000000E3.md",
        f"---\nat: {AT}\npeople: [sam, bo]\naudience: [sam, bo]\n---\n\n# Regatta\n\nThey won.\n",
    )
    shown = run.ok("show", "Bo").out
    assert shown.startswith("Bo\n  (only for") and "Regatta: They won." in shown
    assert not any(word in shown for word in ("pirate", "gold", "floats"))
    talked(run.entity, "ses_2", ("sam", "We won."), ("bo", "Aye."))
    assert "with Sam, Bo: We won." in run.ok("show", "--now", "2026-05-24T20:00").out


def test_quotes_stand_apart_and_each_is_shown_without_what_they_put_right(run: Run) -> None:
    lived(run)
    long = "I like radios, " + ", ".join(f"number {n}" for n in range(40))
    run.write(
        "episodes/2026/05/ep_01KSA0000000000000000000E4.md",
        f"---\nat: {AT}\npeople: [sam]\naudience: [sam]\n---\n\n# Sam\n\n> It is on Friday.\n\n"
        "This is the newer word. Before that it was:\n\n> Sam, 2 May 2026: “On Monday.”\n\n"
        f"> {long}\n\n> It cost 145 pounds.\n",
    )
    shown = run.ok("show", "Sam").out
    assert "Sam: It is on Friday.\n" in shown and " It cost 145 pounds.\n" in shown
    assert not any(word in shown for word in ("Monday", "newer"))
    [cut] = [line for line in shown.splitlines() if line.endswith("…")]
    assert cut.split()[-1].strip("…,").isdigit() or cut.endswith("number…")


def test_what_was_given_up_is_nothing_to_believe(run: Run) -> None:
    lived(run)
    run.write(
        "beliefs/bel_01KSA0000000000000000000B3.md",
        f"---\ncategory: world_fact\nconfidence: 0.8\nformed: {AT}\nstatus: archived\n---\n\n"
        "Sam's boat is green.\n",
    )
    assert "green" not in run.ok("show", "--now", "2026-05-24T20:00").out


def test_a_dream_is_told_once_and_is_nothing_to_believe(run: Run) -> None:
    lived(run)
    thread = "What cracked goes on."
    run.write("dreams/drm_1.md", f"---\nat: {AT}\n---\n\n# A fox\n\n- a wave\n\n{thread}\n")
    run.write(
        "beliefs/bel_01KSA0000000000000000000B3.md",
        f"---\ncategory: dream_insight\nformed: {AT}\naudience: [sam]\n---\n\n{thread}\n",
    )
    assert thread not in run.ok("show", "Sam").out
    assert run.ok("show", "--now", "2026-05-24T20:00").out.count(thread) == 1


def test_a_newborn_has_nothing_to_show_and_says_what_to_do(run: Run) -> None:
    assert 'bumble chat "Hello Ada"' in run.ok("show").out


def test_somebody_who_was_only_spoken_of_is_shown_by_what_was_heard(run: Run) -> None:
    told = "# Regatta\n\nSam sailed all day. Later Ines won the regatta. They ate."
    run.write(
        "episodes/2026/05/ep_01KSA0000000000000000000E2.md",
        f"---\nat: {AT}\nsignificance: 0.5\npeople: [sam]\n---\n\n{told}\n",
    )
    note = "{text: Ines is the sister of Sam., at: 2026-05-24T09:00:00+01:00, by: distill}"
    run.write("relationships/ines.md", f"---\nnames: [Ines]\npending: [{note}]\n---\n")
    shown = run.ok("show", "Ines").out
    assert "Ines is the sister of Sam." in shown
    assert "Regatta: Later Ines won the regatta." in shown
    assert "They ate" not in shown


FELT = "social=50% curiosity=45% creative=40% tension=15% comfort=65% mood=content"


def test_who_hears_it_is_told_where_somebody_else_is_there(run: Run) -> None:
    run.write(
        "episodes/2026/05/ep_01KSA0000000000000000000E1.md",
        f"---\nat: {AT}\nsignificance: 0.5\npeople: [sam]\naudience: [sam]\nby: remember\n"
        f"from: [ses_1, msg_1]\nsoma: {FELT}\n---\n\n# Boat\n\nIt floats.\n",
    )
    run.write("relationships/sam.md", "---\nnames: [Sam]\naudience: [sam]\n---\n\nA sailor.\n")
    run.write("relationships/ines.md", "---\nnames: [Ines]\naudience: [sam]\n---\n\nHis aunt.\n")
    told = run.ok("episode", "show", "last").out
    assert "remember" in told
    assert not any(noise in told for noise in ("only for", "mood=", "msg_1"))
    run.write("relationships/bo.md", "---\nnames: [Bo]\naudience: [bo]\n---\n\nA pirate.\n")
    assert "only for Sam" in run.ok("episode", "show", "last").out
    assert "Boat: It floats." in run.ok("episode", "list").out


def test_a_dream_in_the_diary_is_called_by_the_thought_it_left(run: Run) -> None:
    dream = "[A yawn on the stairs](dreams/drm_1.md)"
    run.write(
        "journal.md", f"## 2026-05-24 03:10 #mine\n\n{dream}\n\n## 2026-05-24 04:10\n\n2*3*4\n"
    )
    listed = run.ok("journal", "list").out
    assert "A yawn on the stairs #mine" in listed and "drm_1" not in listed
    assert "2*3*4" in listed
    shown = run.ok("journal", "show").out
    assert "\nA yawn on the stairs\n" in shown and "drm_1" not in shown
