"""What models say by themselves of cuts, messages and ceilings: where it is said, and where it would be false."""

from __future__ import annotations

from typing import Any

from calibration_samples import calibration
from sentence_scenes import Scene, make_tests
from sentence_templates import Claim, claims_of

from tidegauge.model.attest import FileSystem, Means, cut_label, not_modelled
from tidegauge.model.ceilings import Pace
from tidegauge.model.message import Fate, FoundMessage, SendOutcome, Sent, Witness

MODULES = [f"model/{name}.py" for name in ("attest", "message", "ceilings")]
SENT = Sent(0, 5, 0, SendOutcome.ACKNOWLEDGED, 10, partition=0, position=7)
BEFORE, AFTER = FoundMessage(0, 3), FoundMessage(0, 9)


def cuts(means: Means, file_system: FileSystem = FileSystem.EXT4) -> Scene:
    return lambda _: [cut_label(means, file_system), not_modelled(means, file_system)]


def broken(fate: Fate = Fate.LOST_MIDDLE, **around: Any) -> Scene:
    """Message 5, that broke a promise."""
    return lambda _: Witness(SENT, fate, **around).sentence()


SCENES: dict[str, Scene] = {
    "cuts of the power": cuts(Means.POWER),
    "crashes": cuts(Means.CRASH),
    "cuts through libfuse": cuts(Means.POWER, FileSystem.FUSE),
    "crashes on libfuse": cuts(Means.CRASH, FileSystem.FUSE),
    "lost from the middle": broken(previous=BEFORE, following=AFTER),
    "lost at the beginning": broken(Fate.LOST_FIRST, following=AFTER),
    "lost at the end": broken(Fate.LOST_LAST, previous=BEFORE),
    "all lost": broken(Fate.LOST_ALL),
    "lost before a cut": broken(cut=0, before_cut_s=0.002, previous=BEFORE),
    "lost while servers were down": broken(cut=0, before_cut_s=0.0, previous=BEFORE),
    "lost, and another in its place": broken(previous=BEFORE, instead=AFTER),
    "damaged": broken(Fate.CORRUPT, previous=BEFORE),
    "found in one copy": broken(Fate.DIFFERENT, previous=BEFORE, read="copy 2"),
    "one pace": lambda _: calibration().sentence(),
    "two paces": lambda _: calibration(many=Pace(4, 900_000.0, 2.0)).sentence(),
    "nothing but a rate": lambda _: "620,000 msg/s",
}
CLAIMS = [
    # model/attest.py
    Claim("process crash, not a power cut", "crashes", "cuts of the power"),
    Claim("loss of unsynced pages by libfuse", "cuts through libfuse", "crashes on libfuse"),
    *claims_of(
        "cuts of the power", "nothing but a rate",
        "the drive's own volatile write cache", "hardware faults that strike several",
    ),
    Claim("Every end was a {}", "crashes", "cuts through libfuse"),
    Claim("Every cut was a {}", "cuts through libfuse", "crashes"),
    # model/message.py
    Claim(", {} ms before the cut", "lost before a cut", "lost at the end"),
    Claim(", {} ms before the cut", "lost before a cut", "lost while servers were down"),
    Claim(", just before the cut or during it", "lost while servers were down", "lost before a cut"),
    Claim("and is there only damaged", "damaged", "lost at the end"),
    Claim("and the {} does not find it", "found in one copy", "damaged"),
    Claim("message {} of producer {} was acknowledged", "damaged", "nothing but a rate"),
    Claim(": message {} of producer {} is at that", "lost, and another in its place", "lost at the end"),
    Claim(": what is left goes from message {}", "lost from the middle", "lost at the end"),
    Claim(": what is left ends with message {}", "lost at the end", "lost from the middle"),
    Claim(": what is left begins with message", "lost at the beginning", "lost from the middle"),
    Claim(": nothing of its stream is left", "all lost", "lost at the end"),
    # model/ceilings.py
    Claim("one load generator makes and checks {}", "one pace", "nothing but a rate"),
    *claims_of("two paces", "one pace", "{} with {} of each ({} CPUs)", "{} with 1 producer and 1 consumer"),
]  # fmt: skip
texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS
)
