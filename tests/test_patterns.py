from __future__ import annotations

import importlib

from bumble import patterns
from tests.support.rooms import PACKAGE


def test_every_expression_of_every_module_can_be_compiled() -> None:
    compiled = 0
    for path in PACKAGE.rglob("*.py"):
        if path.stem not in ("__main__", "__init__"):
            name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            for value in vars(importlib.import_module(name)).values():
                for one in value if isinstance(value, (tuple, list)) else [value]:
                    if isinstance(one, patterns._Uncompiled):
                        assert one.search is not None
                        compiled += 1
    assert compiled > 100
