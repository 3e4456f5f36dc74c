"""Each sentence of terminal, report and findings has a run in which it would be false, and is not said there."""

from __future__ import annotations

from pathlib import Path

import pytest
from sentence_templates import Claim, template_of, templates_of, unlisted
from terminal_scenes import SCENES, text_of

_NAMES = (
    "ending facts findings fleet lists levels live loads screen sending summary tables terminal thresholds usage "
    "verdicts distributions names layout fairness doctor"
)
MODULES = tuple(f"report/{name}.py" for name in _NAMES.split())

ENDING = (
    Claim("the clients waited for a CPU", "warned of CPU", "warned of the disk"),
    Claim("close other programs, or use a machine", "warned of CPU, beside others", "warned of CPU, busy by itself"),
    Claim("close other programs, or use a machine", "warned of CPU", "warned of CPU, under a quota"),
    Claim(
        "close other programs, or use a machine",
        "warned of CPU, under a quota and beside others",
        "warned of CPU, under a quota",
    ),
    Claim("use a machine with more CPUs (other", "warned of CPU, busy by itself", "warned of CPU, beside others"),
    Claim("use a machine with more CPUs (other", "warned of CPU, busy by itself", "warned of CPU, under a quota"),
    Claim("the disk was slow already", "warned of the disk", "warned of CPU"),
    Claim("see whether something else writes to it", "warned of the disk", "warned of CPU"),
    Claim("the system did not keep up with the rate", "warned of the rate", "warned of the generator's limit"),
    Claim("give a lower rate: these times grow", "warned of the rate", "warned of the generator's limit"),
    Claim("the generator was at its limit first", "warned of waiting too little", "warned of the generator's limit"),
    Claim("add producers, or CPUs", "warned of waiting too little", "warned of the generator's limit"),
    Claim("the load generator was near its limit", "warned of the generator's limit", "warned of waiting too little"),
    Claim("use more of them (--workers)", "warned of the generator's limit", "warned of waiting too little"),
    Claim("figures still moved while measured", "warned of unsteady figures", "warned of the rate"),
    Claim(" (campaigns/careful.yaml does)", "warned of unsteady figures", "a run of one's own warned of them"),
    Claim(" (campaigns/careful.yaml does)", "warned of unsteady figures", "a run of OMB's files warned of them"),
    Claim(", which {}=report let decide nothing", "one trial disturbed and not judged", "one trial disturbed"),
    Claim(", in the first of them", "both trials disturbed", "one trial disturbed"),
    Claim("the first because {}", "both trials invalid", "invalid"),
    Claim("no reason is recorded", "no reason recorded", "invalid"),
    Claim("`tidegauge show` names the settings that decide it", "levels differ", "two trials"),
    Claim("{} of {} missed, first {}", "threshold missed", "threshold met"),
    Claim("All of them: {} show {}", "threshold missed", "threshold met"),
    Claim("what {} acknowledged {}: durability is refuted", "refuted", "not refuted"),
    Claim("The witness: {} show {}", "refuted", "not refuted"),
    Claim("was damaged, or not there each time it was read,", "refuted by damage", "refuted"),
    Claim("was lost, and some {}", "refuted by a loss and damage", "refuted"),
    Claim("was lost, and some {}", "refuted by a loss and damage", "refuted by damage"),
    Claim("was lost, and some {}", "refuted by a loss and damage", "refuted by damage beside a loss that is allowed"),
    Claim("{} in a power cut", "refuted", "refuted by crashes"),
    Claim("acknowledged messages were lost", "lost", "damaged"),
    Claim(", and messages arrived damaged", "lost and damaged", "one lost, the other damaged"),
    Claim(", or messages arrived damaged", "one lost, the other damaged", "lost and damaged"),
    Claim("{}: {} show {} --json{}", "damaged", "plan"),
    Claim("; the servers' logs: {}", "damaged", "damaged on servers of others"),
    Claim(" CPUs{} were busy ({}).", "invalid on a busy machine", "invalid, the other was busy"),
    Claim(" CPUs{} were busy ({}).", "invalid on a busy machine", "invalid for its level on a busy machine"),
    Claim(" CPUs{} were busy ({}).", "invalid on a busy machine", "invalid, and threads waited"),
    Claim("{} the figures may not be used: {}", "invalid", "doubtful"),
    Claim("Once its cause is fixed, run it again: ", "invalid", "invalid for its own lag"),
    Claim("{} has no answer for {}: {}", "not decided", "found"),
    Claim("A crash leaves what the kernel holds, ", "left open by crashes", "left open by cuts"),
    Claim("A crash leaves what the kernel holds, ", "left open by crashes", "left open without a crash"),
    Claim("Once its cause is fixed, run it again: ", "left open by cuts", "left open by crashes"),
    Claim("a threshold could not be decided, {}", "threshold between repeats", "threshold on an interval"),
    Claim("With more repeats: {}", "threshold between repeats", "threshold on what is not known"),
    Claim("With more repeats: {}", "threshold between repeats", "threshold within the steps of a search"),
    Claim("With more repeats: {}", "threshold between repeats", "threshold on what never came in one block"),
    Claim("What is known of it: {} show {}", "threshold on what is not known", "threshold between repeats"),
    Claim("{}. Then run it again: ", "invalid for its own lag", "invalid"),
    Claim("On a machine with more CPUs, or at a lower rate", "invalid, busy by itself", "invalid on a busy machine"),
    Claim(
        "On a machine with more CPUs, or at a lower rate",
        "invalid, busy by itself",
        "invalid in a closed loop, busy by itself",
    ),
    Claim("On a machine with more CPUs run", "invalid in a closed loop, busy by itself", "invalid, busy by itself"),
    Claim("Close other programs and run it again: ", "invalid on a busy machine", "invalid, busy by itself"),
    Claim(
        "Close other programs and run it again: ",
        "invalid on a busy machine",
        "invalid for its level on a busy machine",
    ),
    Claim("{} of {} trials are kept", "interrupted", "two trials"),
    Claim("To go on with it: {} run --resume {}", "interrupted, may go on", "interrupted"),
    Claim("Start it again: {}", "interrupted", "interrupted, may go on"),
    Claim("Change what the client refuses", "failed, settings refused", "failed"),
    Claim("To go on with it: {} run --resume {}", "interrupted, may go on", "failed, settings refused"),
    Claim("{} failed, first {}", "failed", "failed, a trial interrupted"),
    Claim("(the driver file by its path", "a run of OMB's files", "failed"),
)

FINDINGS = (
    Claim("Faults: seconds without any acknowledgement", "faulted", "one trial"),
    Claim("lost: which of several faults did it", "faulted, loss of one of several", "faulted"),
    Claim("Faults while {} measures: {}.", "plan of faults", "plan"),
    Claim("{}: what was found", "found", "two trials"),
)

FLEET = (
    Claim("The head of a fleet runs on this host", "fleet head", "fleet join"),
    Claim("Copy the fleet's token to every other host", "fleet head", "fleet join"),
    Claim("and let each join as what it is for", "fleet head", "fleet join"),
    Claim("{} is in the fleet of {} now, as {}.", "fleet join", "fleet head"),
    Claim("Ray listens on all addresses of this host ({})", "fleet join, open", "fleet join"),
    Claim("Ray is reached at {} only", "fleet join", "fleet join, open"),
    Claim("Firewall: hosts of the fleet must reach ports {} here", "fleet join", "fleet status"),
    Claim("Disks of the servers, all at the same time", "fleet check", "fleet check without servers"),
    Claim(" (the slowest {} of {}; --json has all)", "fleet check of many hosts", "fleet check"),
    Claim("other clock ahead by", "fleet check", "fleet check of one host"),
    Claim("free: nothing keeps that host's wall clock in step", "fleet check, a clock runs free", "fleet check"),
    Claim("p99 '-': the disk was tried too briefly", "fleet check, a disk tried briefly", "fleet check"),
    Claim("The fleet of {} can be used.", "fleet check", "fleet check with a problem"),
)

LISTS = (
    Claim("{}, in this order:", "plan", "runs listed"),
    Claim("Run one by its name: {} run NAME", "ready campaigns", "plan"),
    Claim("... and {} rows more; --json lists every trial.", "plan of 61 rows", "plan of 60 rows"),
    Claim("... and {} more; --json has every trial's.", "plan of 5 workloads", "plan of 4 workloads"),
    Claim("{}, about {} trials", "plan of a search", "plan of 61 rows"),
    Claim("Thresholds for the results (the exit code is 4", "plan with thresholds", "plan"),
    Claim("A trial whose load generators fail is made again", "plan with retries", "plan"),
    Claim("{} is carried out by {} load generators:", "plan of 3 load generators", "plan of 1 load generator"),
    Claim(
        "Each trial but those that try",
        "plan that looks for a number of load generators",
        "plan of 3 load generators",
    ),
    Claim("Memory, for one system at a time:", "plan of what needs memory", "plan"),
    Claim("{} to {}, each", "shares that are alike", "shares that differ"),
    Claim("{} of the topics to create", "shares that are alike", "shares of existing topics"),
    Claim("no topic to create", "shares that differ", "shares that are alike"),
    Claim(", {}/{} of the rate", "shares in a closed loop", "shares that are alike"),
    Claim(
        "Takes about {} on a calm machine, once everything is fetched.",
        "plan of late readers",
        "plan of late readers at an unknown rate",
    ),
    Claim(
        "Takes about {} on a calm machine, once everything is fetched.",
        "plan of messages, bounded as expected",
        "plan of messages at an unknown rate",
    ),
    Claim(
        ", if a number of messages takes {}: at a rate",
        "plan of messages at an unknown rate",
        "plan of messages, bounded as expected",
    ),
    Claim("Takes {}{} on a calm machine, once", "plan of late readers at an unknown rate", "runs listed"),
    *(
        Claim("{} may read a backlog for {} at most. Writing it", true_in, false_in)
        for true_in, false_in in (
            ("plan of late readers at an unknown rate", "plan of late readers"),
            ("plan of messages and late readers at unknown rates", "plan of messages at an unknown rate"),
        )
    ),
    Claim(
        ", if a number of messages takes {}: at a rate",
        "plan of messages and late readers at unknown rates",
        "plan of late readers at an unknown rate",
    ),
    Claim("{}, in random order within each block:", "plan of a sweep", "plan"),
    Claim("{} ({}) may be in flight over all producers", "plan", "plan of reading"),
    Claim("this limits {} msg/s once acknowledgements take {} ms", "plan", "plan at an unknown rate"),
    Claim("if acknowledgements take 100 ms, this limits", "plan at an unknown rate", "plan"),
    Claim("... and {} windows more.", "plan of 5 windows", "plan of 4 windows"),
    Claim("node {} on {}", "plan on two disks", "plan on one disk"),
    Claim(", its journal on {} if it keeps one apart", "plan with a disk for journals", "plan on two disks"),
    Claim("{} while a trial at a known rate runs", "plan", "plan at an unknown rate"),
    Claim(
        "assumed: `tidegauge doctor` measures it", "plan at an unknown rate", "plan at an unknown rate, disk measured"
    ),
    Claim("up to {} where the rate is found during the run", "plan at an unknown rate", "plan"),
    Claim("Disk: {}. Removed {}.", "plan", "plan of attached servers"),
    Claim("topics after each trial, the rest with the servers", "plan of shared servers", "plan"),
    Claim("up to {} free", "plan", "plan of attached servers"),
    Claim("{} free on the disk{} of {}{}", "plan on one disk", "plan"),
    Claim(" ({} {}: TOO LITTLE, the run would end there)", "plan of too much", "plan on one disk"),
    Claim("set by an earlier trial", "plan at an unknown rate, no rule", "plan at an unknown rate"),
    Claim("{} to {} msg/s", "plan of steps", "plan of one step"),
)

LEVELS = (
    Claim("one level for all, but not as asked", "level not as asked", "levels differ"),
    Claim("no level is known", "levels unknown", "levels differ"),
    Claim("when a message is acknowledged, {}", "two trials", "level of another version"),
    Claim("what this level promises is not known", "level of another version", "two trials"),
    Claim(" and seen in system calls", "level seen in system calls", "two trials"),
    Claim("Durability is UNKNOWN ({})", "levels unknown", "levels differ"),
    Claim("what was reported does not decide it", "levels unknown", "settings changed"),
    Claim("settings changed while it was measured{}", "settings changed", "levels unknown"),
    Claim("Durability is NOT EQUAL ({})", "levels differ", "two trials"),
    Claim("Durability is NOT EQUAL ({})", "levels differ", "level known of one"),
    Claim("Durability is UNKNOWN of some ({})", "level known of one", "levels differ"),
    Claim("Durability is UNKNOWN of some ({})", "level known of one", "levels unknown"),
    Claim("the level of some is not known", "level known of one", "levels differ"),
    Claim("read back from the running servers{}", "two trials", "levels differ"),
    Claim("read back from the running servers{}", "two trials", "no servers"),
    Claim("without servers, since the load generator itself keeps", "no servers", "no servers of one of two"),
    Claim("there are no servers", "no servers", "no servers of one of two"),
    Claim(" and seen in their system calls", "level seen in system calls", "system calls contradict"),
    Claim("level {} for {}{}, {}", "two trials", "levels differ"),
    Claim(" But earlier cuts with these settings REFUTED it: {}.", "level refuted before", "level attested"),
    Claim("{}: differs from what was asked: {}", "levels differ", "two trials"),
    Claim("{}: to be read with its level: {}", "level with a caveat", "two trials"),
    Claim(", as the settings say", "level seen in system calls", "system calls contradict"),
    Claim("; settings read back: {}; system calls: {}{}", "level seen in system calls", "two trials"),
    Claim(
        "as the cluster decides, instead of the expected",
        "level as another cluster decides",
        "level other than asked",
    ),
)

LIVE = (
    Claim("{}, {} once all is fetched.", "log of a beginning", "log of a phase"),
    Claim(
        " (if numbers of messages take as long as assumed)",
        "log of a beginning with a number of messages",
        "log of a beginning",
    ),
    Claim("{} msg/s, {} MB/s, response p99 {} ms", "live, measuring", "live, starting"),
    Claim("load generators, msg/s{}: {}", "live, three load generators", "live, measuring"),
    Claim("; CPU: host {}, servers {}, client {}; disk busy {}", "live, use is seen", "live, measuring"),
    Claim(", response p50 {}, p99 {} ms", "a load has ended", "reading has ended"),
    Claim(" for the same reason as {}", "live, two failed alike", "live, two failed"),
    Claim("Before trial {} of {}", "live, fetching between", "live, fetching first"),
    Claim("Before the first of {} trials", "live, fetching first", "live, fetching between"),
    Claim("Before the first trial", "live, before anything is known", "live, fetching first"),
    Claim("Trial {} of {}: {}", "live, starting", "live, fetching first"),
    Claim("about {} left in all", "live, starting", "live, before anything is known"),
)

SCREEN = (
    Claim("in `show` and the report", "a run with its report", "three experiments more"),
    Claim("Exit code {}: {}", "invalid", "doubtful"),
    Claim("{} of {} finished", "two trials", "live, starting"),
    Claim("; survival of power cuts not tested", "level claimed only", "level lost as it allows"),
    Claim("Durability: {} ({} when acknowledged): {}{}.", "two trials", "levels differ"),
    Claim("topics that exist: {}", "reading", "two trials"),
    Claim("{} in flight at most", "two trials", "reading"),
    Claim("Worth acting on{}", "doubtful", "nothing to act on"),
    Claim("Nothing to act on{}.", "nothing to act on", "doubtful"),
    Claim("All of it:             {} show {}", "two trials", "plan"),
    Claim("To decide what's open:", "repeated", "two trials"),
)

SENDING = (
    Claim("{}, compression {}, at most {} in flight for each producer", "two trials", "reading"),
    Claim("one message in each batch ({} at most)", "batches of one", "batches"),
    Claim("one message in each batch ({} at most)", "batches of one", "batches of one mean size"),
    Claim("{} or {} ms", "batches", "batches without delay"),
)

TABLES = (
    Claim("'{}': too few samples ({}), none at all", "few samples", "attached"),
    Claim(
        ", or (end-to-end) clocks of several hosts that are not known well enough",
        "on several hosts, clocks not known",
        "few samples",
    ),
    Claim("'{}' in a whole row: no trial of {} may be used.", "repeated, one side invalid", "repeated"),
    Claim("Whether messages were lost is not known", "not all read", "lost"),
    Claim("The servers' CPU is not known where others run them: {}.", "attached", "CPU not recorded"),
    Claim("The servers' CPU was not recorded: {}.", "CPU not recorded", "attached"),
    Claim("The servers' CPU was not recorded: {}.", "CPU not recorded", "no servers whose CPU could be recorded"),
    Claim("Rates and message counts are those of all subscriptions", "reading by two", "two subscriptions"),
    Claim("Of several subscriptions end-to-end times, and the backlog", "one of two reads late", "two subscriptions"),
    Claim("End-to-end times and backlogs are each the largest", "two subscriptions", "one of two reads late"),
    Claim("Min, median and max over repeated trials", "repeated", "two trials"),
    Claim("End-to-end times of late readers include the time", "all read late", "one of two reads late"),
    Claim("End-to-end times are without those of late readers", "one of two reads late", "all read late"),
    Claim("Figures are over the whole time before, during and after", "all read late", "two trials"),
    Claim("; those of each phase are below", "one of two reads late, phase by phase", "all read late"),
    Claim("Closed loop: the next message waits for an earlier one", "two peaks", "two trials"),
    Claim("nothing is known but their number", "reading", "reading what was ours"),
    Claim("of the others {}", "reading what was ours in part", "reading what was ours"),
    Claim("{} were damaged when they arrived", "reading what is damaged", "reading what was ours"),
    Claim("of the others {}", "reading what is damaged", "reading"),
    Claim("{} were of an earlier run, and their checksums", "reading what was ours in part", "reading"),
    Claim("Nothing was sent. msg/s: received.", "reading", "two trials"),
    Claim("Nobody read, so nothing is known of loss", "nobody reads", "two trials"),
    Claim("Shared subscriptions promise no order", "shared subscription", "key-shared subscription"),
    Claim("Key-shared subscriptions promise the order of each key", "key-shared subscription", "shared subscription"),
    Claim("{} has its own {} settings: {}.", "own settings", "two trials"),
    Claim("after the first, ms", "several load generators", "one trial"),
    Claim("{}: the {} load generators", "several load generators", "one trial"),
    Claim("{} began within {} ms of each other", "several load generators", "instants not known"),
    Claim(", each with one of {}, drawn {}", "keys at random", "two trials"),
    Claim(", with keys from the lines of a file in turn", "keys from a file", "keys by Zipf's law"),
    Claim("by Zipf's law (exponent {}; {} have the commonest)", "keys by Zipf's law", "keys at random"),
    Claim("{}, who process each message for {}", "consumers that process", "two trials"),
    Claim("{}, each of {} msg/s at most", "consumers with a rate", "consumers that process"),
    Claim("{} msg/s for a consumer at most", "consumers with a rate", "consumers that process"),
    Claim("{} are on several hosts: {}.", "on several hosts", "several load generators"),
    Claim("{} are too many for a table", "many load generators", "several load generators"),
    Claim(
        "; the largest end-to-end p99 lies between {} and {} ms", "on several hosts, with bounds", "on several hosts"
    ),
    Claim("how far their clocks are apart is known to within {} us", "on several hosts", "several load generators"),
)

TERMINAL = (
    Claim("Response time: from the intended send to the acknowledgement.", "two trials", "nothing finished"),
    Claim("No trial has finished, so there are no figures.", "nothing finished", "failed"),
    Claim("Run {}, started {}: {}, {}.", "two trials", "live, starting"),
    Claim("Session {}, started {}: {}, {} finished{}.", "two sessions", "two trials"),
    Claim("Changed between sessions {} and {}: {}.", "two sessions", "two sessions alike"),
    Claim("Servers and clients ran on it together", "two trials", "nothing began"),
    Claim("Servers and clients ran on it together", "two trials", "no servers"),
    Claim("Clients ran on {}; there were no servers.", "no servers", "no servers of one of two"),
    Claim("{} {} had no servers.", "no servers of one of two", "no servers"),
    Claim("Clients ran on it, servers on other hosts", "servers apart", "on a fleet"),
    Claim("Clients ran on it. {}", "attached", "two trials"),
    Claim("Servers and clients ran on the hosts of a fleet", "on a fleet", "servers apart"),
    Claim("what belongs to no node", "on a fleet, described", "on a fleet"),
    Claim("Clients ran on the hosts of a fleet, servers on others.", "attached to a fleet", "on a fleet"),
    Claim("{}, but for the servers of {}, which others run.", "attached, one of two", "two trials"),
    Claim(" Between them nothing was encrypted", "servers apart", "attached"),
    Claim("Servers that others run were on it, too.", "attached, seen here", "attached, not seen here"),
    Claim("Others run the servers; none of their processes", "attached, not seen here", "attached, seen here"),
    Claim("Others run the servers; what these used is as", "attached, reporting", "attached, not seen here"),
    Claim("Others run the servers; where was not looked up.", "attached", "attached, not seen here"),
    Claim("consumers alone, as fast as it goes, {} from the first", "reading", "two peaks"),
    Claim("{}; {} msg/s on average, open loop", "scheduled", "two trials"),
    Claim("as fast as it goes (closed loop)", "two peaks", "two trials"),
    Claim("at {} msg/s{}, open loop, {} arrivals", "two trials", "two peaks"),
    Claim("{}, a backlog of {}", "all read late", "two trials"),
    Claim("{}, filled by others, {}with {}.", "reading", "two trials"),
    Claim("existing topic{} {}", "filling what others keep", "two trials"),
    Claim("{}; {}, each topic with {} and {}", "two trials", "reading"),
    Claim("To decide what is open, if figures go on to scatter", "repeated", "two trials"),
    Claim("To see whether a difference is more than chance", "two trials", "repeated"),
    Claim("{} of {} trials are finished and would be kept", "interrupted, may go on", "interrupted"),
    Claim(", and so would {} of an attestation", "attestation interrupted", "interrupted, may go on"),
    Claim("To go on with it ({}): tidegauge run --resume {}", "interrupted, may go on", "interrupted"),
    Claim("To go on with it ({}): tidegauge run --resume {}", "interrupted, may go on", "failed, settings refused"),
    Claim("  each second:    trials/*/seconds.parquet", "two trials", "refuted"),
    Claim("Client settings that differ from the library's own", "clients changed", "clients by default"),
    Claim("  settings read back: trials/*/settings.json", "two trials", "nothing began"),
    Claim("  again:          tidegauge show {}", "two trials", "plan"),
)

THRESHOLDS = (
    Claim("Of what is measured, with 3 blocks or more", "threshold on an interval", "threshold met"),
    Claim("{} was aborted after {} s", "one trial aborted", "one trial"),
)

USAGE = (
    Claim("{}: {}, near the limit of {}.", "near a limit", "near no limit"),
    Claim("what limited it is not identified", "limit not identified", "limit identified"),
    Claim("Near a limit in {}: {}.", "near a limit in a repeat", "near a limit in the middle"),
    Claim("; a hypervisor held back at most {}", "others ran, CPU stolen", "others ran"),
    Claim("Other programs took {} {}, in {}{}.", "others ran", "others not known"),
    Claim("as far as it is known at most", "others known of one of two", "others ran"),
    Claim("Of what its host can do", "ceilings", "ceilings of a fleet"),
    Claim("Of what its hosts can do", "ceilings of a fleet", "ceilings"),
    Claim("... and {} rows more; --json has every trial.", "25 rows", "24 rows"),
    Claim(">= of bytes: a lower bound.", "ceilings", "bytes seen"),
    Claim(">= of syncs: a lower bound.", "all seen", "bytes seen"),
    Claim("DOUBTFUL ceiling of {}: {}.", "doubtful ceiling of a disk", "doubtful ceilings"),
    Claim("DOUBTFUL ceilings: the load average was {}", "doubtful ceilings", "doubtful ceiling of a disk"),
    Claim("Cost: {} a host and hour, {}, at the rate measured.", "ceilings and a price", "ceilings"),
    Claim("loopback {} in one connection{}", "ceilings", "no loopback"),
    Claim("{} before the run", "ceilings", "ceilings measured now"),
    Claim("before the first trial", "ceilings measured now", "ceilings"),
    Claim("Ceilings, measured {}: {}.", "ceilings", "two trials"),
    Claim(" (one alone takes {} ms)", "ceilings", "no small syncs alone"),
)

VERDICTS = (
    Claim("measured once each: no evidence", "answer: latencies", "answer: one repeat each left"),
    Claim("one usable result each: no evidence", "answer: one repeat each left", "answer: latencies"),
    Claim("At an UNKNOWN durability level{}", "unknown at one point", "two trials"),
    Claim("At levels that DIFFER{}", "levels differ", "two trials"),
    Claim("At levels that DIFFER{}", "levels differ", "level known of one"),
    Claim("At a durability level that is UNKNOWN of some{}", "level known of one", "levels differ"),
    Claim(", NOT all as asked for", "level not as asked at one point", "levels of a sweep"),
    Claim("At levels {}{} ({})", "levels of a sweep", "two trials"),
    Claim(", NOT the one asked for", "level not as asked", "two trials"),
    Claim("; with a caveat, see durability", "level with a caveat", "two trials"),
    Claim("At level {}{} ({}; {}{})", "two trials", "levels of a sweep"),
    Claim("no result of {}", "answer: one of two has a result", "answer: latencies"),
    Claim("as fast as it goes, ", "answer: peaks", "answer: latencies"),
    Claim("at {}{} the {} was ", "answer: latencies", "answer: peaks"),
    Claim("did not keep up", "answer: not kept up", "answer: latencies"),
    Claim("no VALID trial of {}", "answer: latencies, one INVALID", "answer: latencies, one DOUBTFUL"),
    Claim(
        "don't compare these: the durability levels DIFFER",
        "answer: latencies of two levels and an INVALID one",
        "answer: latencies, one INVALID",
    ),
    Claim(
        "don't compare these: the durability levels DIFFER",
        "answer: latencies at two levels",
        "answer: latencies at two levels, allowed",
    ),
    Claim("not decided for {}", "answer: search not decided", "answer: search"),
    Claim("{} at level {} in {} ({})", "answer: cuts", "answer: search"),
    Claim("no figure that may be used", "answer: latencies, all INVALID", "answer: latencies, one INVALID"),
    Claim("{}: another trial may differ{}", "answer: latency alone", "answer: latencies"),
    Claim("; least steady within its trial: {},", "two, with their seconds", "alone, with its seconds"),
    Claim("at each point {}", "answer: points", "answer: points, repeated"),
    Claim("at each point {}", "answer: points", "answer: points, one block that both have"),
    Claim("no point has two blocks of both", "answer: points, one block that both have", "answer: points"),
    Claim("measured once at each point: no evidence", "answer: three points alike", "answer: points, repeated"),
    Claim("durability levels that DIFFER or are unknown", "answer: points, levels differ at one", "answer: points"),
    Claim("no usable figure of {}", "answer: points, one INVALID", "answer: points, one DOUBTFUL"),
    Claim("{} against {}: {} of {}", "answer: points, repeated", "answer: points"),
)

DISTRIBUTIONS = (
    Claim("All usable trials merged", "three trials merged", "one trial by its seconds"),
    Claim("Within each trial, 95% (it does not predict", "one trial by its seconds", "three trials merged"),
    Claim("{} messages in {} trials", "three trials merged", "one trial by its seconds"),
    Claim("{}, {}: response {} of {}{}", "three trials merged", "two trials"),
    Claim("from {} stretches of consecutive seconds", "one trial by its seconds", "three trials merged"),
)

FAIRNESS = (
    Claim("seen in what was in force", "unequal, seen in force", "unequal, allowed"),
    Claim("{} comparison ({}). Its figures are not on equal terms:", "unequal, allowed", "advised"),
    Claim("To know when comparing (--json adds amounts", "advised", "unequal, allowed"),
    Claim("It will run, marked as unequal", "plan that is allowed", "plan that is refused"),
    Claim("It is refused unless --allow-unequal is given", "plan that is refused", "plan that is allowed"),
    Claim("To know when comparing:", "plan that is advised", "plan that is refused"),
)

DOCTOR = (
    Claim("What it can do at most", "doctor", "doctor, nothing measured"),
    Claim("Loopback: {} in one connection{}", "doctor", "doctor, no loopback"),
    Claim("Memory: {} copied by {}.", "doctor", "doctor, no memory"),
    Claim("DOUBTFUL: the load average was {} when this began", "doctor, under load", "doctor"),
    Claim("What one load generator makes and checks is not known: {}", "doctor, not calibrated", "doctor"),
    Claim("DOUBTFUL: its sending thread had no CPU for {}", "doctor, calibrated without CPU", "doctor"),
    Claim("Disk of {} ({})", "doctor", "doctor, no disk"),
    Claim("{}: bandwidth could not be measured.", "doctor, no direct I/O", "doctor"),
    Claim("{} at a time, {} in flight, past the page cache", "doctor", "doctor, no direct I/O"),
    Claim(" Sustained, once memory takes no more: {}", "doctor, sustained", "doctor, not sustained"),
    Claim(" Sustained writes were not measured: {}.", "doctor, not sustained", "doctor, sustained"),
    Claim("{}: sequential writes {}{}; {}.{}", "doctor", "doctor, no direct I/O"),
    Claim("time of one call, ms", "doctor", "doctor, no syncs"),
    Claim("{}: {}. Why it matters: {}. {}", "doctor, to change", "doctor"),
    Claim("As it should be", "doctor", "doctor, nothing good"),
    Claim("To change it: {}", "doctor, to change", "doctor, to change by hand"),
    Claim("It can do everything", "doctor", "doctor of root"),
    Claim("an ordinary user of this machine", "doctor of an ordinary user", "doctor of root"),
    Claim("What {} can't do: {} of {}", "doctor of root", "doctor"),
    Claim("Throughput and latency are measured all the same", "doctor of root", "doctor"),
    Claim(" To have it: {}{}", "doctor of an ordinary user", "doctor of root"),
    Claim("{}: {}. It is for: {}. Without it: {}.{}", "doctor of root", "doctor"),
)

BESIDE = (
    Claim("the system did not keep up with the rate", "warned of the rate", "invalid and not kept up"),
    Claim("no result of {}", "answer: one of two has a result", "answer: planned at another point"),
    Claim("'{}': too few samples ({}), none at all", "few samples", "CPU not recorded"),
    Claim("Whether messages were lost is not known", "not all read", "damaged"),
    Claim("Close other programs and run it again: ", "invalid on a busy machine", "invalid"),
    Claim("With more repeats: {}", "threshold between repeats", "threshold of another version"),
    Claim("{} in a power cut", "refuted", "refuted by unsynced pages"),
    Claim("Nobody read, so nothing is known of loss", "nobody reads", "reading"),
    Claim("{} failed, first {}", "failed", "interrupted"),
)
"""More runs in which a sentence would be false."""

CLAIMS = (
    *ENDING, *FINDINGS, *FLEET, *LISTS, *LEVELS, *LIVE, *SCREEN, *SENDING, *TABLES, *TERMINAL, *THRESHOLDS, *USAGE,
    *VERDICTS, *DISTRIBUTIONS, *FAIRNESS, *DOCTOR, *BESIDE,
)  # fmt: skip


COUNTED = (
    ("In both trials the clients", "both trials short of CPU", "warned of CPU"),
    ("In the only trial the clients", "one trial short of CPU", "both trials short of CPU"),
    ("In 1 of 2 trials (latency: Kafka) the clients", "warned of CPU", "both trials short of CPU"),
    ("Kafka DOUBTFUL at 1 of 2 points", "answer: points, one DOUBTFUL", "answer: points"),
    ("Kafka not decided at 1 of 3 points", "answer: three points, one open", "answer: three points"),
    ("Existing topic orders, filled by others, with 1 subscription", "reading", "reading of two topics"),
    ("Existing topics orders, paid, filled by others, each with", "reading of two topics", "reading"),
    ("for Kafka; 7.", "answer: repeats of one", "answer: repeats"),
    ("Kafka 1,000 msg/s at all 3 points", "answer: three points alike", "answer: two points"),
)
"""Sentences that begin or end with how many of all it is: what is said, where, and where it would be false."""


def test_every_sentence_is_listed() -> None:
    assert unlisted(MODULES, CLAIMS) == []


def test_no_claim_stands_for_several_sentences() -> None:
    every = {template.text for module in MODULES for template in templates_of(module)}
    assert sorted(every - {template_of(claim, MODULES).text for claim in CLAIMS}) == []


def test_every_scene_is_of_use() -> None:
    used = {scene for claim in CLAIMS for scene in (claim.true_in, claim.false_in)}
    assert sorted(SCENES.keys() - used - {scene for _, *scenes in COUNTED for scene in scenes}) == []


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scenes")


@pytest.mark.parametrize(
    "claim", CLAIMS, ids=lambda claim: f"{' '.join(claim.template.split())[:40]}, {claim.false_in}"
)
def test_a_sentence_is_said_where_it_is_true_and_not_where_it_is_false(claim: Claim, base: Path) -> None:
    template = template_of(claim, MODULES)
    assert template.is_in(text_of(claim.true_in, base)), f"not said: {claim.true_in}"
    assert not template.is_in(text_of(claim.false_in, base)), f"said: {claim.false_in}"


@pytest.mark.parametrize(("text", "true_in", "false_in"), COUNTED)
def test_how_many_of_all_is_said_in_words_for_one_and_two(text: str, true_in: str, false_in: str, base: Path) -> None:
    assert text in text_of(true_in, base)
    assert text not in text_of(false_in, base)
