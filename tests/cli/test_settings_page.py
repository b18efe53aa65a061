from __future__ import annotations

from bumble.cli import reference


def test_each_setting_is_explained() -> None:
    assert [
        ".".join(keys) for keys, said in reference.setting_rows() if not said.strip("()yours al")
    ] == []
