"""A limit that leaves servers no room for what they are given."""

from __future__ import annotations

from dataclasses import replace

from run_samples import spec

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.plan.limits import too_small
from tidegauge.model.workload import ServerLimits


def test_a_limit_below_what_the_servers_are_given_is_refused() -> None:
    limited = replace(spec(), limits=ServerLimits(512 << 20))
    assert "less than heap (1024 MiB)" in too_small(limited, SystemChoice("kafka"))
    assert too_small(limited, SystemChoice("kafka", heap_mb=256, direct_memory_mb=128)) == ""
    assert too_small(spec(), SystemChoice("kafka")) == ""
