"""Shares of ceilings and costs, by hand-made results whose answers are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from report_samples import ceilings
from run_samples import reading, result, spec

from tidegauge.campaign.read.fingerprint import meaning_of_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.errors import UserError
from tidegauge.model.ceilings import DiskCeiling
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.model.use import Seen, of_host
from tidegauge.usage import (
    Basis,
    Ceiling,
    CeilingShare,
    Price,
    ceiling_shares,
    connections_of,
    copies_by_device,
    copies_of,
    cost,
    parse_price,
)


def moved(mb_per_s: float = 50.0, msgs_per_s: float = 50_000.0, **of_spec: object) -> LoadResult:
    return replace(result(replace(spec(), **of_spec)), mb_per_s=mb_per_s, msgs_per_s=msgs_per_s)  # type: ignore[arg-type]


def by_kind(found: tuple[CeilingShare, ...]) -> dict[tuple[Ceiling, str], CeilingShare]:
    return {(share.of, share.where): share for share in found}


class TestShares:
    def test_one_node_writes_each_value_once(self) -> None:
        share = by_kind(ceiling_shares(moved(50.0), ceilings()))[Ceiling.WRITES, "ext4 on vda"]
        assert (share.used, share.ceiling, share.share, share.unit) == (50e6, 500e6, 0.1, "bytes/s")
        assert share.basis is Basis.COMPUTED

    def test_three_nodes_on_one_disk_write_it_three_times(self) -> None:
        share = by_kind(ceiling_shares(moved(50.0, nodes=3), ceilings()))[Ceiling.WRITES, "ext4 on vda"]
        assert share.share == pytest.approx(0.3)

    def test_copies_that_were_asked_for_count_and_not_nodes(self) -> None:
        assert copies_of(moved(nodes=5)) == 3
        assert copies_of(moved(nodes=5, copies=2)) == 2
        share = by_kind(ceiling_shares(moved(50.0, nodes=5, copies=2), ceilings()))[Ceiling.WRITES, "ext4 on vda"]
        assert share.share == pytest.approx(0.2)

    def test_disks_that_nodes_take_by_turns_hold_their_part(self) -> None:
        assert copies_by_device(("8:0", "8:16"), nodes=3, copies=3) == {"8:0": 2.0, "8:16": 1.0}
        assert copies_by_device(("8:0", "8:16", "8:32"), nodes=3, copies=2) == pytest.approx(
            {"8:0": 2 / 3, "8:16": 2 / 3, "8:32": 2 / 3}
        )
        assert copies_by_device((), nodes=3, copies=3) == {}

    def test_of_a_node_with_several_disks_it_is_not_known_what_is_on_which(self) -> None:
        assert copies_by_device(("8:0", "8:16", "8:32", "8:48"), nodes=3, copies=3) == {"8:16": 1.0, "8:32": 1.0}
        assert copies_by_device(("8:0", "8:0"), nodes=1, copies=1) == {"8:0": 1.0}
        journals = copies_by_device(("8:0", "8:16", "8:32", "8:48"), nodes=3, copies=3, journals=True)
        assert journals == {"8:0": 1.0, "8:16": 1.0, "8:32": 1.0}

    def test_a_node_with_a_host_of_its_own_has_all_disks_there(self) -> None:
        disks = tuple(of_host(host, device) for host in ("a", "b", "c") for device in ("8:0", "8:16"))
        assert copies_by_device(disks, nodes=3, copies=3) == {}
        assert copies_by_device(disks, nodes=3, copies=3, journals=True) == {"a 8:0": 1.0, "b 8:16": 1.0, "c 8:0": 1.0}
        assert copies_by_device(disks[::2], nodes=3, copies=2) == dict.fromkeys(disks[::2], pytest.approx(2 / 3))

    def test_nodes_that_share_hosts_take_their_disks_by_turns(self) -> None:
        disks = tuple(of_host(host, device) for host in ("a", "b") for device in ("8:0", "8:16", "8:32"))
        # Node 3 is on the first host again, and has the third disk of those there.
        assert copies_by_device(disks, nodes=3, copies=3) == {"a 8:0": 1.0, "b 8:16": 1.0, "a 8:32": 1.0}

    def test_two_disks_are_distinguished(self) -> None:
        known = ceilings()
        other = replace(known.ceilings.disks[0], device="8:16", name="xfs on sdb", write_bytes_per_s=100e6)
        known = replace(
            known,
            ceilings=replace(known.ceilings, disks=(*known.ceilings.disks, other)),
            data_devices=("254:0", "8:16"),
        )
        found = by_kind(ceiling_shares(moved(50.0, nodes=2), known))
        assert found[Ceiling.WRITES, "ext4 on vda"].share == pytest.approx(0.1)
        assert found[Ceiling.WRITES, "xfs on sdb"].share == pytest.approx(0.5)

    def test_a_journal_kept_apart_is_written_too(self) -> None:
        known = ceilings(journal_devices=("254:0",))
        assert by_kind(ceiling_shares(moved(50.0), known))[Ceiling.WRITES, "ext4 on vda"].share == pytest.approx(0.2)

    def test_writes_of_a_long_window_are_held_against_what_is_sustained(self) -> None:
        known = ceilings()
        disk = replace(known.ceilings.disks[0], sustained_write_bytes_per_s=250e6)
        known = replace(known, ceilings=replace(known.ceilings, disks=(disk,)))
        for seconds, ceiling in ((19.0, 500e6), (20.0, 250e6)):
            trial = replace(moved(50.0), measured_s=seconds)
            assert by_kind(ceiling_shares(trial, known))[Ceiling.WRITES, "ext4 on vda"].ceiling == ceiling

    def test_loopback_is_held_against_as_many_connections_as_the_load_has(self) -> None:
        trial, known = moved(50.0), ceilings()
        assert known.ceilings.loopback is not None
        loopback = replace(known.ceilings.loopback, bytes_per_s=1e9, many=64, many_bytes_per_s=64e9)
        known = replace(known, ceilings=replace(known.ceilings, loopback=loopback))
        clients = connections_of(trial.spec)
        assert clients == trial.spec.workload.topics * (
            trial.spec.workload.producers + trial.spec.workload.subscriptions * trial.spec.workload.consumers
        )
        assert by_kind(ceiling_shares(trial, known))[Ceiling.LOOPBACK, ""].ceiling == clients * 1e9
        three = moved(50.0, nodes=3)
        assert by_kind(ceiling_shares(three, known))[Ceiling.LOOPBACK, ""].ceiling == (clients + 3) * 1e9

    def test_loopback_carries_it_to_servers_copies_and_readers(self) -> None:
        one = by_kind(ceiling_shares(moved(50.0), ceilings()))[Ceiling.LOOPBACK, ""]
        assert one.used == 100e6  # To the server, and to one subscription.
        three = by_kind(ceiling_shares(moved(50.0, nodes=3), ceilings()))[Ceiling.LOOPBACK, ""]
        assert three.used == 200e6
        assert three.share == pytest.approx(0.1)

    def test_reading_alone_writes_nothing(self) -> None:
        found = by_kind(ceiling_shares(replace(reading(), mb_per_s=50.0), ceilings()))
        assert (Ceiling.WRITES, "ext4 on vda") not in found
        assert found[Ceiling.LOOPBACK, ""].used == 50e6

    def test_what_was_seen_goes_before_what_is_computed(self) -> None:
        seen = Seen({"254:0": 250e6}, {"254:0": 90e6}, {"254:0": 600.0}, 1e9)
        found = by_kind(ceiling_shares(replace(moved(50.0), seen=seen), ceilings()))
        assert found[Ceiling.WRITES, "ext4 on vda"].share == pytest.approx(0.5)
        assert found[Ceiling.READS, "ext4 on vda"].share == pytest.approx(0.1)
        assert found[Ceiling.LOOPBACK, ""].share == pytest.approx(0.5)
        assert {share.basis for share in found.values() if share.of is not Ceiling.SYNCS} == {Basis.SEEN}

    def test_flushes_are_the_least_number_of_syncs(self) -> None:
        found = by_kind(ceiling_shares(replace(moved(), seen=Seen(flushes_per_s={"254:0": 600.0})), ceilings()))
        syncs = found[Ceiling.SYNCS, "ext4 on vda"]
        assert syncs.share == pytest.approx(0.8)
        assert (syncs.unit, syncs.basis) == ("syncs/s", Basis.COMPUTED)

    def test_of_other_devices_the_least_is_computed(self) -> None:
        found = by_kind(ceiling_shares(replace(moved(50.0), seen=Seen({"7:0": 250e6})), ceilings()))
        assert found[Ceiling.WRITES, "ext4 on vda"].basis is Basis.COMPUTED

    def test_syncs_and_reads_are_never_computed(self) -> None:
        assert {share.of for share in ceiling_shares(moved(), ceilings())} == {Ceiling.WRITES, Ceiling.LOOPBACK}

    def test_others_servers_have_no_share_of_this_machine(self) -> None:
        assert ceiling_shares(moved(attached=True), ceilings()) == ()

    def test_a_ceiling_that_could_not_be_measured_has_no_share(self) -> None:
        known = ceilings()
        unknown = DiskCeiling("/data", "254:0", "zfs on tank", False, None, None, 1 << 20, 4)
        known = replace(known, ceilings=replace(known.ceilings, disks=(unknown,), loopback=None))
        assert ceiling_shares(moved(), known) == ()

    def test_a_disk_that_holds_no_data_has_none(self) -> None:
        assert {share.of for share in ceiling_shares(moved(), ceilings(data_devices=("8:0",)))} == {Ceiling.LOOPBACK}

    def test_the_nearest_ceiling(self) -> None:
        nearest = max(ceiling_shares(moved(50.0), ceilings()), key=lambda share: share.share)
        assert nearest.of is Ceiling.WRITES


class TestCost:
    def test_by_hand(self) -> None:
        # 0.36 an hour: 3.6 million messages at 1,000 a second, so 10^9 messages take 277.8 hours.
        found = cost(moved(mb_per_s=1.0, msgs_per_s=1000.0), Price(0.36, "EUR"))
        assert found is not None
        assert found.per_billion_messages == pytest.approx(100.0)
        assert found.per_gb_per_s_hour == pytest.approx(360.0)
        assert (found.hosts, found.currency) == (1, "EUR")

    def test_nodes_on_this_machine_cost_one_host(self) -> None:
        found = cost(moved(nodes=3), Price(1.0))
        assert found is not None and found.hosts == 1

    def test_an_attached_cluster_costs_its_nodes_and_this_host(self) -> None:
        alone, three = cost(moved(), Price(1.0)), cost(moved(nodes=3, attached=True), Price(1.0))
        assert alone is not None and three is not None
        assert three.hosts == 4
        assert three.per_gb_per_s_hour == pytest.approx(4 * alone.per_gb_per_s_hour)

    def test_what_is_invalid_or_moved_nothing_has_none(self) -> None:
        assert cost(replace(moved(), validity=Validity.INVALID), Price(1.0)) is None
        assert cost(moved(mb_per_s=0.0, msgs_per_s=0.0), Price(1.0)) is None


class TestPrice:
    @pytest.mark.parametrize(
        ("text", "price"),
        [(0.34, Price(0.34)), (2, Price(2.0)), ("0.34", Price(0.34)), (" 0.34 USD ", Price(0.34, "USD"))],
    )
    def test_read(self, text: object, price: Price) -> None:
        assert parse_price(text) == price

    @pytest.mark.parametrize("text", ["", "USD", "0.34USD per hour", "-1", True, None, "1,5 EUR", "$1"])
    def test_refused(self, text: object) -> None:
        with pytest.raises(ValueError, match=r"must be a number, with a currency"):
            parse_price(text)

    @pytest.mark.parametrize("text", [0, "0", "0 EUR", -1.5, float("inf")])
    def test_must_be_above_zero(self, text: object) -> None:
        with pytest.raises(ValueError, match="must be above 0"):
            parse_price(text)

    def test_written_as_it_was_given(self) -> None:
        assert [str(Price(0.34, "USD")), str(Price(2.0))] == ["0.34 USD", "2"]


class TestPriceInCampaigns:
    def parsed(self, tmp_path: Path, line: str = "", **overrides: str) -> Price | None:
        path = tmp_path / "campaign.yaml"
        path.write_text(f"name: priced\nsystems: [kafka]\nexperiments: [peak]\n{line}\n")
        wanted = {name.replace("_", "-"): value for name, value in overrides.items()}
        return parse_campaign(path, wanted, ["kafka"]).price

    def test_none_is_none(self, tmp_path: Path) -> None:
        assert self.parsed(tmp_path) is None

    def test_an_option_wins_over_the_file(self, tmp_path: Path) -> None:
        assert self.parsed(tmp_path, "price-per-host-hour: 0.34 USD") == Price(0.34, "USD")
        found = self.parsed(tmp_path, "price-per-host-hour: 0.34 USD", price_per_host_hour="2 EUR")
        assert found == Price(2.0, "EUR")

    def test_a_wrong_one_is_named_with_its_line_and_what_is_allowed(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match=r"campaign.yaml:4: price-per-host-hour: 'cheap': must be a number, with a"):
            self.parsed(tmp_path, "price-per-host-hour: cheap")

    def test_so_is_a_wrong_option(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match=r"--price-per-host-hour: .*'-1': must be"):
            self.parsed(tmp_path, price_per_host_hour="-1")

    def test_it_decides_nothing_that_is_measured(self, tmp_path: Path) -> None:
        path = tmp_path / "campaign.yaml"
        path.write_text("name: priced\nsystems: [kafka]\nexperiments: [peak]\n")
        campaign = parse_campaign(path, {}, ["kafka"])
        assert meaning_of_campaign(replace(campaign, price=Price(1.0))) == meaning_of_campaign(campaign)
