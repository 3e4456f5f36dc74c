"""What a Pulsar cluster's settings say about copies, and what is missing of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pulsar_settings import BOOKIES, BROKERS, CLUSTER, GOOD, NAMESPACE, TOPIC, bookie, broker, changed, namespace, topic

from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Setting
from tidegauge.systems import registry
from tidegauge.systems.pulsar.level import derive_level, incomplete

NODES = 3


def found(settings: list[Setting], level: int = 1, form: str = "") -> LevelFinding:
    return derive_level(settings, LevelChoice(level, form), NODES)


class TestLevel:
    def test_level_1(self) -> None:
        finding = found(GOOD)
        assert (finding.level, finding.problems) == (1, ())
        assert any("managedLedgerDefaultAckQuorum=2" in reason for reason in finding.reasoning)

    @pytest.mark.parametrize("level", [3, 4])
    def test_ack_quorum_1_is_level_3_or_4(self, level: int) -> None:
        sync = "true" if level == 3 else "false"
        brokers = [*broker(1, "1"), *broker(2, "1"), *broker(3, "1")]
        bookies = [*bookie(1, sync), *bookie(2, sync), *bookie(3, sync)]
        assert found([*brokers, *bookies, *topic("1", "1")], level).problems == ()
        weak = found([*brokers, *bookies, *topic("1", "1")], level - 2)
        assert weak.level == level
        assert "broker 127.0.0.1:8081" in weak.problems[0]
        assert ": managedLedgerDefaultAckQuorum=1" in weak.problems[0]

    def test_one_bookie_that_skips_fsync_is_named(self) -> None:
        finding = found(changed(GOOD, "bookie 2", "journalSyncData", "false"))
        assert finding.level == 2
        assert "bookie 2: journalSyncData=false" in finding.problems[0]
        assert "bookie 1" not in finding.problems[0]

    def test_a_namespace_policy_that_overrides_the_brokers_is_named(self) -> None:
        finding = found([*CLUSTER, *BROKERS, *BOOKIES, *topic("1", "2"), namespace(1)])
        assert finding.level == 3
        assert NAMESPACE in finding.problems[0]
        assert "bookkeeperAckQuorum=1" in finding.problems[0]
        assert "broker 127" not in finding.problems[0]

    def test_a_namespace_policy_decides_for_topics_to_come(self) -> None:
        assert found([*BROKERS, *BOOKIES, namespace(1)]).level == 3
        weak_default = [*broker(1, "1"), *broker(2, "1"), *broker(3, "1"), *BOOKIES]
        assert found([*weak_default, namespace(2)]).problems == ()
        assert found(weak_default).level == 3

    def test_an_open_ledger_made_with_less_is_named(self) -> None:
        finding = found([*BROKERS, *BOOKIES, *topic("2", "1")])
        assert finding.level == 3
        assert f"{TOPIC}: ackQuorumSize=1 of its open ledger" in finding.problems[0]

    def test_without_policies_of_topics_namespace_or_brokers_decide_for_the_next_ledger(self) -> None:
        only_ledgers = [s for s in topic() if s.name.startswith("ledger.")]
        assert found([*BROKERS, *BOOKIES, *only_ledgers]).problems == ()
        assert NAMESPACE in found([*BROKERS, *BOOKIES, *only_ledgers, namespace(1)]).problems[0]
        weak_brokers = [*broker(1, "1"), *broker(2, "1"), *broker(3, "1")]
        assert found([*weak_brokers, *BOOKIES, *only_ledgers]).level == 3

    def test_one_weak_broker_of_three_is_named(self) -> None:
        finding = found([*broker(1), *broker(2, "1"), *broker(3), *BOOKIES])
        assert finding.level == 3
        assert "broker 127.0.0.1:8082" in finding.problems[0]
        assert "broker 127.0.0.1:8081" not in finding.problems[0]

    def test_more_than_asked_is_a_problem_too(self) -> None:
        finding = found(GOOD, 3)
        assert finding.level == 1
        assert "managedLedgerDefaultAckQuorum=2" in finding.problems[0]

    def test_other_quorums_than_usual_are_a_caveat_at_the_same_level(self) -> None:
        finding = found(changed(GOOD, TOPIC, "ledger.writeQuorumSize", "2"))
        assert (finding.level, finding.problems) == (1, ())
        assert finding.caveats[0] == f"{TOPIC}: write quorum 2, where 3 copies are usual on 3 bookies"

    @pytest.mark.parametrize(
        ("quorums", "bookies", "level", "caveats"),
        [
            ((3, 3, 2), 3, 1, ()),
            ((3, 3, 1), 3, 3, ()),
            ((2, 2, 2), 3, 1, ("write quorum 2, where 3 copies are usual", "2 of 2 copies are awaited: without")),
            ((2, 2, 1), 3, 3, ("write quorum 2, where 3 copies are usual",)),
            ((5, 3, 2), 5, 1, ("ensemble 5: entries are spread over 5 bookies, 3 copies of each",)),
            ((5, 5, 2), 5, 3, ("write quorum 5, where 3 copies",)),
            ((5, 5, 3), 5, 1, ("write quorum 5, where 3 copies",)),
            ((3, 3, 3), 3, 1, ("3 of 3 copies are awaited, which is more than a majority",)),
            ((4, 4, 2), 4, 3, ("write quorum 4, where 3 copies",)),
        ],
    )
    def test_a_majority_is_more_than_half_of_the_copies(
        self, quorums: tuple[int, int, int], bookies: int, level: int, caveats: tuple[str, ...]
    ) -> None:
        names = ("ledger.ensembleSize", "ledger.writeQuorumSize", "ledger.ackQuorumSize")
        ledger = [Setting(TOPIC, name, str(value)) for name, value in zip(names, quorums, strict=True)]
        names = ("bookkeeperEnsemble", "bookkeeperWriteQuorum", "bookkeeperAckQuorum")
        policy = [Setting(TOPIC, name, str(value)) for name, value in zip(names, quorums, strict=True)]
        storage = [setting for number in range(1, bookies + 1) for setting in bookie(number)]
        finding = derive_level([*storage, *policy, *ledger], LevelChoice(level), bookies)
        assert (finding.level, finding.problems) == (level, ())
        assert len(finding.caveats) == len(caveats)
        for words, beginning in zip(finding.caveats, caveats, strict=True):
            assert words.removeprefix(f"{TOPIC}: ").startswith(beginning)

    @pytest.mark.parametrize("name", ["ledger.ackQuorumSize", "ledger.writeQuorumSize"])
    def test_a_quorum_that_is_not_reported_is_unknown(self, name: str) -> None:
        ledger = [s for s in topic() if s.name.startswith("ledger.") and s.name != name]
        finding = found([*BOOKIES, *ledger])
        assert (finding.level, finding.problems) == (None, ())

    def test_an_ensemble_that_there_are_too_few_bookies_for(self) -> None:
        wide = changed(GOOD, TOPIC, "ledger.ensembleSize", "5")
        assert found(wide).problems == ("3 bookies take writes, where an ensemble of 5 is asked for: there are 3",)

    def test_the_window_of_a_journal_that_is_synced_by_time(self) -> None:
        unsynced = [replace(s, value="false") if s.name == "journalSyncData" else s for s in GOOD]
        by_time = [Setting(f"bookie {n}", "journalPageCacheFlushIntervalMSec", "1000") for n in (1, 2, 3)]
        (caveat,) = found([*unsynced, *by_time], 2).caveats
        assert caveat.endswith(
            "journalPageCacheFlushIntervalMSec=1000: about 1000 ms of entries are in the page cache only"
        )

    def test_fewer_writable_bookies_than_copies(self) -> None:
        finding = found(changed(GOOD, "bookie 3", "state.readOnly", "true"))
        assert "2 bookies take writes" in finding.problems[0]
        assert "bookie 3 is read-only" in finding.problems[0]
        assert found([*BROKERS, *bookie(1), *topic()]).problems[0].startswith("1 bookies take writes")

    def test_a_spare_bookie_may_be_missing(self) -> None:
        four = [*GOOD, *bookie(4, read_only="true")]
        assert derive_level(four, LevelChoice(1), 4).problems == ()
        assert incomplete(four, 4) == "bookie 4 is read-only"

    def test_without_any_ack_quorum_the_level_is_unknown(self) -> None:
        finding = found(BOOKIES)
        assert (finding.level, finding.problems) == (None, ())
        assert finding.undecided == ("cluster: no ack quorum was read back",)

    def test_a_policy_that_is_no_json_is_passed_over(self) -> None:
        assert found([*BROKERS, *BOOKIES, Setting(NAMESPACE, "persistence", "none")]).problems == ()


class TestIncomplete:
    def test_complete(self) -> None:
        system = registry.system_named("pulsar")
        assert system.incomplete(GOOD, NODES) == ""
        assert system.incomplete([], 1) == ""

    @pytest.mark.parametrize(
        ("scope", "name", "value", "expected"),
        [
            ("bookie 2", "state.running", "false", "bookie 2 does not run"),
            ("bookie 2", "state.readOnly", "true", "bookie 2 is read-only"),
            ("cluster", "brokers", "2", "2 of 3 brokers are active"),
            (TOPIC, "partitions.unowned", "4", f"{TOPIC}: 4 partitions have no broker"),
        ],
    )
    def test_what_is_missing_is_reported(self, scope: str, name: str, value: str, expected: str) -> None:
        assert incomplete(changed(GOOD, scope, name, value), NODES) == expected

    def test_a_bookie_that_reported_nothing(self) -> None:
        assert "only 2 of 3" in incomplete([*CLUSTER, *BROKERS, *bookie(1), *bookie(2), *topic()], NODES)
