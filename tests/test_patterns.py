from __future__ import annotations

import importlib

from bumble import patterns
from tests.support.rooms import modules


def test_every_expression_of_every_module_can_be_compiled() -> None:
    compiled = 0
    for module in modules():
        if module.room != "__main__":
            for value in vars(importlib.import_module(module.name)).values():
                for one in value if isinstance(value, (tuple, list)) else [value]:
                    if isinstance(one, patterns._Uncompiled):
                        assert one.search is not None
                        compiled += 1
    assert compiled > 100
