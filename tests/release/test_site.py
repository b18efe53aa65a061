from __future__ import annotations

from release import site
from release.contents import ROOT


def test_every_link_of_the_documentation_leads_somewhere() -> None:
    assert [
        link
        for file in site.pages().values()
        for link in site.broken(file.read_text("utf-8"), file)
    ] == []


def test_a_link_that_leads_nowhere_is_named() -> None:
    readme = ROOT / "README.md"
    text = "[a](docs/privacy.md#trust) [b](docs/none.md) [c](docs/privacy.md#none) [d](https://x.y)"
    assert site.broken(text, readme) == [
        "README.md: docs/none.md",
        "README.md: docs/privacy.md#none",
    ]
    assert site.broken("```\n[b](docs/none.md)\n```", readme) == []


def test_links_fit_the_site() -> None:
    moved = site.for_site("[a](../SECURITY.md#x) [b](models.md) [c](#y)", ROOT / "docs/privacy.md")
    assert moved == "[a](SECURITY.md#x) [b](models.md) [c](#y)"
    assert site.for_site("[a](docs/privacy.md)", ROOT / "README.md") == "[a](privacy.md)"
    assert site.for_site("[f](../bumble/forms) x", ROOT / "docs/x.md") == "f x"
