"""What servers report otherwise at the end of a trial: settings that somebody changed, never what changes by itself."""

from __future__ import annotations

import pytest

from tidegauge.durability import changed_level, changed_words, doubts_of, server_moves, setting_changes
from tidegauge.model.level import NO_CUTS, CutsStanding, EarlierCuts, LevelChoice, LevelFinding, SettingChange
from tidegauge.model.server import Setting

START = (
    Setting("cluster", "brokers", "3"),
    Setting("broker 1", "log.flush.interval.ms", ""),
    Setting("broker 1", "log.dirs", "/a"),
    Setting("topic t", "flush.messages", "1"),
    Setting("topic t", "leaders.by.partition", "1, 2, 3"),
    Setting("topic t", "in.sync.replicas", "3"),
    Setting("bookie 1", "journal syncs so far", "10"),
    Setting("topic q", "queue.type", "quorum"),
)


def after(*changed: Setting, without: str = "") -> list[Setting]:
    names = {(setting.scope, setting.name) for setting in changed}
    kept = [s for s in START if (s.scope, s.name) not in names and s.scope != without]
    return [*kept, *changed]


@pytest.mark.parametrize(
    ("end", "change"),
    [
        (after(Setting("topic t", "flush.messages", "9")), SettingChange("topic t", "flush.messages", "1", "9")),
        # Set where it was empty: a broker's dynamic setting.
        (
            after(Setting("broker 1", "log.flush.interval.ms", "5")),
            SettingChange("broker 1", "log.flush.interval.ms", "", "5"),
        ),
        (after(Setting("policy p", "definition", "ttl=1")), SettingChange("policy p", "definition", "", "ttl=1")),
        (
            after(Setting("topic q queue q-1", "queue.type", "classic")),
            SettingChange("topic q queue q-1", "queue.type", "", "classic"),
        ),
        (
            after(Setting("topic t", "configuration", "unknown: no right"), without="topic t"),
            SettingChange("topic t", "configuration", "", "unknown: no right"),
        ),
    ],
)
def test_a_change_is_named(end: list[Setting], change: SettingChange) -> None:
    assert setting_changes(START, end) == (change,)


@pytest.mark.parametrize(
    "end",
    [
        list(START),
        list(reversed(START)),
        after(Setting("topic t", "leaders.by.partition", "1, 1, 3"), Setting("topic t", "in.sync.replicas", "2")),
        after(Setting("bookie 1", "journal syncs so far", "9999")),
        after(Setting("cluster", "brokers", "2"), without="broker 1"),
        # Some servers report these some seconds after a queue was made.
        after(Setting("topic q", "queue.policy.definition", ""), Setting("topic q", "queue.storage_version", "1")),
        after(Setting("topic t", "ledger.ackQuorumSize", "2")),
    ],
)
def test_what_changes_by_itself_is_no_change(end: list[Setting]) -> None:
    assert setting_changes(START, end) == ()


def test_the_level_before_and_after() -> None:
    changes = setting_changes(START, after(Setting("topic t", "flush.messages", "9")))
    three, four, unknown = (
        LevelFinding(3, ("x",), attested=EarlierCuts.from_text("claimed only")),
        LevelFinding(4, ("y",)),
        LevelFinding(None, ()),
    )
    assert changed_level(three, four, ()) is three
    same = changed_level(three, LevelFinding(3, ()), changes)
    assert (same.level, same.attested, same.changes) == (3, EarlierCuts(CutsStanding.CLAIMED_ONLY), changes)
    for end, words in ((four, "level 3 until then, level 4 after"), (unknown, "level 3 until then, unknown after")):
        changed = changed_level(three, end, changes)
        assert (changed.level, changed.attested, changed.undecided) == (None, NO_CUTS, (words,))
        assert doubts_of(LevelChoice(3), changed) == [
            f"settings changed while it was measured: topic t: flush.messages was 1, is 9 ({words})"
        ]


def test_many_changes_are_named_in_part() -> None:
    many = tuple(SettingChange("broker 1", f"name.{n}", "a", "b") for n in range(50))
    assert changed_words(LevelFinding(3, (), changes=many)).endswith("name.7 was a, is b; and 42 more")
    topics = tuple(SettingChange(f"topic {n}", "flush.ms", "a", "b") for n in range(50))
    assert changed_words(LevelFinding(3, (), changes=topics)) == "topic 0 and 49 more: flush.ms was a, is b"


@pytest.mark.parametrize(
    ("end", "moves"),
    [
        (after(), ()),
        # What others set is a change, and no move.
        (after(Setting("topic t", "flush.messages", "9")), ()),
        (after(Setting("topic t", "leaders.by.partition", "2, 2, 3")), ("leaders of 1 of 3 partitions moved",)),
        (after(Setting("broker 4", "log.dirs", "/a"), without="broker 1"), ("broker 1 is gone", "broker 4 came")),
        # A topic that is there no more is no server.
        (after(without="topic q"), ()),
    ],
)
def test_servers_that_came_went_or_lead_no_more_are_named(end: list[Setting], moves: tuple[str, ...]) -> None:
    assert server_moves(START, end) == moves


def test_moves_are_no_changes_of_settings() -> None:
    assert setting_changes(START, after(Setting("topic t", "leaders.by.partition", "2, 2, 3"))) == ()
    assert setting_changes(START, after(without="broker 1")) == ()
