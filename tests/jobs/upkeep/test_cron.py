from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from bumble.cli.commands import cron
from bumble.cli.commands.cron import Job
from bumble.errors import RefusedError

ADA = Job(Path("/home/sam/my ada"), "Ada", "/opt/py/bin/python")
BO = Job(Path("/home/sam/bo"), "Bo", "/opt/py/bin/python")
MINE = "MAILTO=sam\n0 5 * * * backup  # mine\n"


def test_the_line_names_everything_in_full_and_survives_a_shell() -> None:
    line = cron.block(ADA).splitlines()[1]
    minutes, command = line.split(" * * * * ")
    assert minutes == "*/10"
    assert shlex.split(command) == [*ADA.arguments]


def test_only_its_own_block_is_touched() -> None:
    one = cron.with_block(MINE, ADA)
    both = cron.with_block(one, BO)
    assert both == MINE + cron.block(ADA) + cron.block(BO)
    assert cron.with_block(both, ADA) == both
    moved = Job(ADA.root, "Ada", "/new/python")
    assert cron.with_block(both, moved) == MINE + cron.block(moved) + cron.block(BO)
    assert cron.without_block(both, ADA) == MINE + cron.block(BO)
    assert cron.without_block(cron.without_block(both, ADA), BO) == MINE
    assert cron.without_block(MINE, ADA) == MINE


def test_half_a_block_is_left_to_its_owner() -> None:
    half = "\n".join(cron.block(ADA).splitlines()[:2]) + "\n"
    for change in (cron.with_block, cron.without_block):
        with pytest.raises(RefusedError, match="crontab -e"):
            change(half, ADA)


def test_units_have_names_of_their_own_and_quote_what_systemd_would_read() -> None:
    odd = Job(Path('/x/50% "$HOME"'), "Ada", "/py")
    assert odd.unit != Job(Path("/y"), "Ada", "/py").unit
    service = cron.units(odd)[f"{odd.unit}.service"]
    assert 'ExecStart="/py" "-P" "-m" "bumble" "-e" "/x/50%% \\"$$HOME\\"" "tick"' in service
    assert "OnCalendar=*:0/10" in cron.units(odd)[f"{odd.unit}.timer"]
