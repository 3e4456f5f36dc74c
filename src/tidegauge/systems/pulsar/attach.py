"""Attaching to a Pulsar cluster that others run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tidegauge.errors import RunFailedError
from tidegauge.model.server import Setting
from tidegauge.systems.attach import AddressKey, AttachRules, split
from tidegauge.systems.attached import (
    UNKNOWN,
    AttachedCluster,
    AttachRequest,
    connection_settings,
)
from tidegauge.systems.pulsar.bookie import read_bookie_at

BOOKIES = AddressKey(
    "bookie-http-urls", "http://bookie1:8000,http://bookie2:8000", "", required=False, schemes=("http", "https")
)
RULES = AttachRules(
    keys=(
        AddressKey(
            "service-url",
            "pulsar+ssl://host1:6651,host2:6651",
            "serviceUrl",
            schemes=("pulsar", "pulsar+ssl"),
            secure_schemes=("pulsar+ssl",),
            one_scheme=True,
        ),
        AddressKey(
            "admin-url",
            "https://host:8443",
            "adminUrl",
            schemes=("http", "https"),
            secure_schemes=("https",),
            alone=True,
        ),
        BOOKIES,
    ),
    methods=("token", "tls"),
)
NOT_GIVEN = "bookies tell their settings over their own HTTP servers only, and no bookie-http-urls were given"


def attach(request: AttachRequest) -> AttachedCluster:
    """The cluster as a deployment. Nothing is asked of it yet."""
    urls = split(request.choice.addresses, BOOKIES)
    return AttachedCluster(
        connection=connection_settings(request.choice, RULES, request.secrets),
        topic_settings={},
        nodes_in=_bookies,
        decides=lambda setting: setting.scope.startswith(("bookie", "broker", "cluster", "topic ")),
        read_more=partial(_read_bookies, urls),
    )


def _read_bookies(urls: Sequence[str]) -> list[Setting]:
    """What each bookie tells; of one that does not, why. Never raises."""
    if not urls:
        return [Setting("bookies", "settings", f"{UNKNOWN}{NOT_GIVEN}")]
    found: list[Setting] = []
    for number, url in enumerate(urls, 1):
        try:
            found += read_bookie_at(number, url)
        except RunFailedError as error:
            found.append(Setting(f"bookie {number}", "settings", f"{UNKNOWN}{error.message}"))
    return found


def _bookies(settings: Sequence[Setting]) -> int | None:
    """Copies are on bookies: as many nodes as told of themselves, if all did."""
    if any(s.scope.startswith("bookie") and s.value.startswith(UNKNOWN) for s in settings):
        return None
    return len({s.scope for s in settings if s.scope.startswith("bookie ")}) or None
