from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from bumble.bridges.report import page
from bumble.text import yaml_edit
from tests.bridges.report import hostile
from tests.support.repository import body, git
from tests.support.running import Run

TALK, TOLD = "ses_01KSA0000000000000000000T1", "msg_01KSA0000000000000000000M1"
ANSWERED = "msg_01KSA0000000000000000000M2"
EPISODE, PRIVATE = "ep_01KSA0000000000000000000E1", "ep_01KSA0000000000000000000E2"
BELIEF, OTHER = "bel_01KSA0000000000000000000B1", "bel_01KSA0000000000000000000B2"
DREAM = "drm_01KSA0000000000000000000D1"
AT = "2026-05-20T10:00:00+01:00"
TAG = "social=50% curiosity=60% creative=40% tension=10% comfort=70% mood=content"


class Page(HTMLParser):
    """A page, taken apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.ids, self.links = text, list[str](), list[str]()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.seen: list[str] = []  # of these, what isn't folded away
        self.depth = 0  # of boxes, in what is folded away
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "div" and (self.depth or self.tags[-1][1].get("class") == "fold"):
            self.depth += 1
        self.tags.append((tag, values))
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if "href" in values else []

    def handle_endtag(self, tag: str) -> None:
        if tag == "div" and self.depth:
            self.depth -= 1

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] not in ("script", "style"):
            self.words.append(data)
            if not self.depth:
                self.seen.append(data)

    @property
    def shown(self) -> str:
        """All that is to be read."""
        return " ".join(" ".join(self.words).split())


def made(run: Run, *options: str) -> Page:
    place = run.entity.root.parent / "page.html"
    run.ok("report", str(place), *options)
    return Page(place.read_text("utf-8"))


@pytest.fixture
def lived(run: Run) -> Run:
    """A talk of Sam's, what came of it, and what only Bo may know."""
    rows: list[dict[str, Any]] = [
        {"type": "session", "id": TALK, "at": AT, "by": "sam"},
        {"type": "message", "id": TOLD, "at": AT, "role": "user", "speaker": "sam"},
        {"type": "message", "id": ANSWERED, "at": AT, "role": "assistant", "text": "How lovely."},
    ]
    rows[1]["text"] = "Biscuit is afraid of the sea."
    run.write(f"sessions/{TALK}/messages.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    run.write(
        f"episodes/2026/05/{EPISODE}.md",
        f"---\nat: {AT}\nsignificance: 0.5\npeople: [sam]\nsession: {TALK}\nsoma: {TAG}\n"
        f"imprints:\n- {{emotion: tenderness, intensity: 0.5}}\nfrom: [{TOLD}]\n---\n\n"
        "We spoke of Biscuit.\n\n---\n\nHe trusts me.\n",
    )
    run.write(
        f"episodes/2026/05/{PRIVATE}.md",
        f"---\nat: {AT}\nsignificance: 0.5\npeople: [bo]\naudience: [bo]\n---\n\nBo dug a hole.\n",
    )
    run.write(
        f"beliefs/{BELIEF}.md",
        f"---\ncategory: preference\nconfidence: 0.8\nformed: {AT}\nevidence: [{TOLD}, {EPISODE},"
        f" msg_01KSA0000000000000000000XX]\ncontradicts: [{OTHER}]\nby: distill\n---\n\n"
        "The dog fears water.\n",
    )
    run.write(
        f"beliefs/{OTHER}.md",
        "---\ncategory: world_fact\nconfidence: 0.8\nformed: 2026-05-20T10:00:00+01:00\n"
        "audience: [bo]\n---\n\nBo hides the gold.\n",
    )
    run.write(
        f"dreams/{DREAM}.md",
        f"---\nat: {AT}\npairs: [[{EPISODE}, {PRIVATE}]]\naudience: [sam]\n---\n\n"
        "# The wave\n\n- a wave on stilts\n\nEverything was wet.\n",
    )
    run.write(
        "relationships/sam.md",
        f"---\nnames: [Sam, Sammy]\nscores: {{warmth: 0.75}}\ninteraction_count: 3\n"
        f"first_met: {AT}\npending:\n- {{text: ask for the map, audience: [bo]}}\n"
        "- {text: ask for the dog}\naudience: [sam]\n---\n\nA sailor.\n",
    )
    run.write("relationships/bo.md", "---\nnames: [Bo]\naudience: [bo]\n---\n\nA pirate.\n")
    run.write("journal.md", "## 2026-05-20 11:00:00\n\nRain on the quay.\n")
    run.write("narrative.md", f"---\nat: {AT}\n---\n\nI was born by the sea ({EPISODE}).\n")
    return run


def test_the_page_tells_a_life_and_every_link_leads_somewhere(lived: Run) -> None:
    unasked = made(lived).shown
    assert "for its owner, without 3 that are only for others" in unasked
    assert "Not in it: sections of knowledge, skills, projects." in unasked
    assert not any(text in unasked for text in ("A pirate.", "Bo hides the gold.", "for the map"))
    shown = made(lived, "--all")
    for text in (
        *(
            "20 May 2026 · The wave",
            "We spoke of Biscuit.",
            "He trusts me.",
            "tenderness",
            "The dog fears water.",
        ),
        *("A sailor.", "A pirate.", "75%", "a wave on stilts", "Everything was wet."),
        *("Rain on the quay.", "I was born by the sea", "Bo hides the gold."),
        *("Social", "Wednesday, 20 May 2026", "2 messages", "1 not here any more"),
    ):
        assert text in shown.shown, text
    assert EPISODE not in shown.shown  # the story is told without its ids
    assert {link.removeprefix("#") for link in shown.links} <= set(shown.ids)
    assert len(shown.ids) == len(set(shown.ids))


def test_the_page_says_in_which_language_the_life_is_told(lived: Run) -> None:
    assert ("html", {"lang": "en"}) in made(lived).tags
    path = lived.entity.root / f"episodes/2026/05/{EPISODE}.md"
    path.write_text(path.read_text().replace("We spoke of Biscuit.", "海の話をした。" * 9))
    assert ("html", {"lang": "ja"}) in made(lived).tags


def test_a_link_is_read_out_with_the_words_that_it_shows(lived: Run) -> None:
    named = re.findall(r'<a [^>]*aria-label="([^"]*)"[^>]*>([^<]*)</a>', made(lived).text)
    assert named
    assert all(label.startswith(shown) for label, shown in named)


def test_a_belief_is_shown_down_to_what_was_said_by_whom_and_when(lived: Run) -> None:
    text = made(lived).text
    belief = text[text.index(f'id="{BELIEF}"') :]
    belief = belief[: belief.index("</article>")]
    assert "Biscuit is afraid of the sea." in belief
    assert '<cite dir="auto">Sam</cite>' in belief
    assert "20 May 2026, 10:00" in belief
    assert f'href="#{TOLD}"' in belief and f'href="#{EPISODE}"' in belief
    assert f'id="{TOLD}"' in text


def test_one_person_gets_what_that_person_may_know(lived: Run) -> None:
    place = lived.entity.root.parent / "page.html"
    data = lived.ok("report", str(place), "--for", "Sam", "--json").data
    shown = Page(place.read_text("utf-8"))
    assert "The dog fears water." in shown.shown and "A sailor." in shown.shown
    markup = shown.text.partition("<body>")[2].partition("<script>")[0]
    for text in ("gold", "pirate", "hole", "Bo", "map", PRIVATE, OTHER, "not here any more"):
        assert not re.search(rf"\b{text}\b", markup), text
    assert data["for"] == "sam" and data["withheld"] == 3
    other = made(lived, "--for", "Bo")
    assert "Bo hides the gold." in other.shown and "Biscuit is" not in other.shown
    assert "Sam" not in other.text and "sailor" not in other.text


def test_of_who_was_only_heard_of_nothing_is_measured(lived: Run) -> None:
    front = "---\nname: Linh\nfirst_met: 2026-05-20T10:00:00+01:00\naudience: [sam]\n---\n\n"
    before = made(lived).shown.count("First met")
    lived.write("relationships/linh.md", f"{front}Linh is a student.\n")
    shown = made(lived).shown
    assert "Linh is a student." in shown and "Heard of" in shown
    assert shown.count("First met") == before


def test_nothing_of_somebody_who_was_forgotten_is_in_it(lived: Run) -> None:
    lived.ok("person", "forget", "Bo", "--yes")
    shown = made(lived)
    for text in ("Bo", "pirate", "gold", "dug a hole"):
        assert not re.search(rf"\b{text}\b", shown.shown), text


def test_secrets_stay_out_however_they_are_hidden(lived: Run) -> None:
    lived.write(
        f"beliefs/{BELIEF}.md",
        lived.text(f"beliefs/{BELIEF}.md").replace(
            "The dog fears water.", "The key is AKIA\x1b[0mIOSFODNN7EXAMPLE."
        ),
    )
    shown = made(lived)
    assert "IOSFODNN7EXAMPLE" not in shown.text and "[secret]" in shown.shown


@pytest.mark.parametrize("printed", [False, True])
def test_the_policy_lets_run_the_pages_own_script_and_load_nothing(
    lived: Run, printed: bool
) -> None:
    shown = Page(lived.ok("report", "-").out) if printed else made(lived)
    metas = [values for tag, values in shown.tags if tag == "meta"]
    policy = next(v["content"] for v in metas if v.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy and "http" not in policy
    for tag in ("script", "style"):
        inner = re.findall(rf"<{tag}>(.*?)</{tag}>", shown.text, re.DOTALL)
        assert len(inner) == 1
        digest = base64.b64encode(hashlib.sha256(inner[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert all(not name.startswith("on") and name != "style" for _, v in shown.tags for name in v)
    assert all(link.startswith("#") for link in shown.links)
    assert not {"img", "link", "iframe", "object", "embed"} & {tag for tag, _ in shown.tags}


def test_hostile_texts_stay_texts(run: Run) -> None:
    calm = made(run)
    hostile.write(run)
    shown = made(run)
    assert [tag for tag, _ in shown.tags].count("script") == 1
    assert not {"img", "iframe", "base"} & {tag for tag, _ in shown.tags}
    forms = [values.get("id") for tag, values in shown.tags if tag in ("form", "input")]
    assert forms.count("ui-words") == [v.get("id") for t, v in calm.tags].count("ui-words") == 1
    assert all(not name.startswith("on") for _, values in shown.tags for name in values)
    assert "{{ 7 * 6 }}" in shown.shown and "window.hit = 1" in shown.shown
    assert "\u202e" not in shown.text and "\\u202e" in shown.text


def test_a_broken_record_is_left_out_and_named(lived: Run) -> None:
    lived.write(f"beliefs/{BELIEF}.md", "---\nconfidence: high\n---\n\nThe dog.\n")
    lived.write("relationships/bo.md", "---\nnames: [\n---\n\nA pirate.\n")
    place = lived.entity.root.parent / "page.html"
    ran = lived.ok("report", str(place), "--json")
    assert set(ran.data["unread"]) == {f"beliefs/{BELIEF}.md", "relationships/bo.md"}
    assert f"beliefs/{BELIEF}.md can't be read" in ran.err
    assert f"beliefs/{BELIEF}.md" in Page(place.read_text("utf-8")).shown
    # whoever else it is for learns nothing of names
    assert "bo.md" not in made(lived, "--for", "Sam").text


def test_the_history_gives_the_body_and_to_the_owner_alone(lived: Run) -> None:
    root = lived.entity.root
    git(root, "init", "-q", "-b", "main")
    identity = ("-c", "user.name=Sam", "-c", "user.email=sam@example.org")
    day = ("--date", "2026-05-22T12:00:00+01:00")
    for social, title in ((88.0, "Gus came"), (12.0, "Gus left")):
        lived.write("soma.yaml", yaml_edit.dump(body(social)))
        git(root, "add", "-A")
        git(root, *identity, "commit", *day, "-qm", title)
    shown = made(lived).shown
    assert re.search(r"Social now \d+, between 12 and 88", shown)
    assert "Gus" not in shown  # a title may speak of somebody who was forgotten
    assert "and 88" not in made(lived, "--for", "Sam").shown


def test_what_is_seen_first_is_a_life_and_bookkeeping_is_folded_away(lived: Run) -> None:
    lived.ok("belief", "confirm", BELIEF)
    text = made(lived).text.partition('<main id="content"')[2]
    first, rest = text.split("</section>", 1)
    for words in (
        *("I was born by the sea", "We spoke of Biscuit.", "A sailor.", "The dog fears water."),
        *("Sam said: “Biscuit is afraid of the sea.”", "Everything was wet.", "tenderness"),
    ):
        assert words in first, words
    assert first.index("What happened") < first.index("People") < first.index("How it felt")
    assert 'class="fold"' not in first and EPISODE in first
    page = Page(rest)
    for words in ("by distill", "now 50, between", "not here any more"):
        assert words not in " ".join(page.seen) and words in page.shown, words


def test_what_was_dreamt_is_no_belief_at_first_and_marks_say_only_what_differs(lived: Run) -> None:
    dreamt = f"---\nformed: {AT}\nsource: dream:{DREAM}\naudience: [sam]\n---\n\n"
    lived.write("beliefs/bel_01KSA0000000000000000000D9.md", f"{dreamt}Everything was wet.\n")
    text = made(lived).text.partition('<main id="content"')[2]
    first, rest = text.split("</section>", 1)
    assert first.count("Everything was wet.") == 1 and "mood content" not in text
    assert "only for Sam" in rest  # Bo is there, too
    (lived.entity.root / "relationships/bo.md").unlink()
    assert "only for" not in made(lived).text.partition("<main")[2]


def test_a_dream_without_a_title_is_called_for_its_day_once(lived: Run) -> None:
    place = f"dreams/{DREAM}.md"
    lived.write(place, lived.text(place).replace("# The wave\n\n", ""))
    shown = made(lived).shown
    assert "20 May 2026 a wave on stilts" in shown and "2026-05-20" not in shown


def test_somebody_who_was_only_spoken_of_is_told_of_by_what_was_heard(lived: Run) -> None:
    note = "{text: Ines mends the sails.}"
    lived.write("relationships/ines.md", f"---\nnames: [Ines]\npending: [{note}]\n---\n")
    first, rest = made(lived).text.partition('<main id="content"')[2].split("</section>", 1)
    assert "Ines mends the sails." in first
    assert "Ines mends the sails." in " ".join(Page(rest).seen)


def test_it_replaces_reports_and_nothing_else(lived: Run, tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    place.write_text("<p>mine</p>")
    assert lived("report", str(place)).code == 13
    assert place.read_text() == "<p>mine</p>"
    lived.ok("report", str(place), "--force")
    assert page.is_report(place.read_bytes())
    lived.ok("report", str(place))
    assert place.stat().st_mode & 0o777 == 0o600
    link = tmp_path / "link.html"
    link.symlink_to(place)
    assert lived("report", str(link), "--force").code == 13
    assert lived("report", str(tmp_path), "--force").code == 13


def test_it_goes_beside_the_entity_or_where_one_is_and_prints(lived: Run, tmp_path: Path) -> None:
    before = files(lived.entity.root)
    beside = lived.entity.root.parent / "Ada-report.html"
    names = {path.name for path in lived.entity.root.parent.iterdir()}
    assert lived("report").code == 0
    new = {path.name for path in lived.entity.root.parent.iterdir()} - names
    new.discard("home")  # where what is begun is noted
    assert {name.casefold() for name in new} == {beside.name.casefold()}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert lived("report", "-e", str(lived.entity.root), cwd=elsewhere).code == 0
    assert len(list(elsewhere.iterdir())) == 1
    assert lived.ok("report", "-").out.startswith("<!doctype html>")
    assert lived("report", "-", "--json").code == 2
    assert files(lived.entity.root) == before


def files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


def test_a_life_of_one_day_is_dated_once(lived: Run) -> None:
    axes = re.findall(r'<p class="axis">(.*?)</p>', made(lived).text)
    assert axes
    assert all(axis.count("20 May 2026") == axis.count("<span>") == 1 for axis in axes)
