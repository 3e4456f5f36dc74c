"""A limit that leaves servers no room for what they are given."""

from __future__ import annotations

from dataclasses import replace

import pytest
from attestation_samples import SPEC as ATTEST
from run_samples import spec

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.plan.limits import check_on_disk, too_small
from tidegauge.errors import UserError
from tidegauge.model.level import LevelChoice
from tidegauge.model.workload import ServerLimits


def test_a_limit_below_what_the_servers_are_given_is_refused() -> None:
    limited = replace(spec(), limits=ServerLimits(512 << 20))
    assert "less than heap (1024 MiB)" in too_small(limited, SystemChoice("kafka"))
    assert too_small(limited, SystemChoice("kafka", heap_mb=256, direct_memory_mb=128)) == ""
    assert too_small(spec(), SystemChoice("kafka")) == ""


IN_MEMORY = {"/data-1": {"file_system": "ext4"}, "/data-2": {"file_system": "tmpfs", "in_memory": "tmpfs at /data-2"}}


@pytest.mark.parametrize("level", [1, 3])
def test_data_in_memory_is_on_no_disk(level: int) -> None:
    planned = replace(spec(), choice=LevelChoice(level))
    with pytest.raises(UserError) as caught:
        check_on_disk([planned], IN_MEMORY, "10.7.0.3")
    assert (
        f"{planned.system} at durability level {level} needs a disk, and /data-2 on 10.7.0.3 is in memory (tmpfs at "
        "/data-2): nothing there is on disk, whatever is synced."
    ) in caught.value.message
    assert f"level {level + 1}" in caught.value.hint


def test_where_no_disk_is_promised_or_used_memory_will_do() -> None:
    for level in (2, 4):
        check_on_disk([replace(spec(), choice=LevelChoice(level))], IN_MEMORY)
    asked = replace(spec(), choice=LevelChoice(3))
    check_on_disk([asked], {"/data-1": IN_MEMORY["/data-1"]})
    check_on_disk([replace(asked, attached=True), replace(ATTEST, choice=LevelChoice(1))], IN_MEMORY)
