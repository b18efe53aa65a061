from __future__ import annotations

from bumble.models.weights import catalog
from release import licences

TABLE = licences.rows(licences.PAGE.read_text("utf-8"))


def test_the_page_tells_the_licence_of_everything_that_is_fetched() -> None:
    here = licences.packages()
    assert len(here) > 60
    assert {one.name: TABLE.get(one.name) for one in here} == {
        one.name: one.licence for one in here
    }, "run `just licences`"
    weights = {entry.name: entry.licence for entry in catalog.load()}
    assert {name: TABLE.get(name) for name in weights} == weights


def test_every_package_may_be_used_by_everybody() -> None:
    assert [one for one in licences.packages() if not licences.is_allowed(one.licence)] == []
    assert all(licences.is_allowed(licence) for licence in licences.ELSEWHERE.values())
    weights = [entry.licence for entry in catalog.load()]
    assert all(licences.is_allowed(licence) for licence in weights)


def test_an_expression_is_allowed_if_one_of_its_ways_is() -> None:
    assert licences.is_allowed("MIT AND Apache-2.0")
    assert licences.is_allowed("GPL-3.0-only OR MIT")
    for licence in ("", "GPL-3.0-only", "MIT AND GPL-3.0-only", "Proprietary"):
        assert not licences.is_allowed(licence)


def test_the_page_names_no_place_of_a_machine() -> None:
    assert "/site-packages" not in "".join(TABLE) and "/bumble/" not in " ".join(TABLE.values())
