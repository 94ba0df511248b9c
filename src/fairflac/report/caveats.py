"""What the method cannot do, and whether it is so here."""

from collections.abc import Sequence
from dataclasses import dataclass

from fairflac.runs import Run

SMALL_BATCH = 32  # images; the paper's own bound


@dataclass(frozen=True)
class Caveat:
    text: str
    here: str = ""  # why it touches these runs


def caveats(runs: Sequence[Run]) -> list[Caveat]:
    """The paper's own, and what follows from how things are measured."""
    flac = [run for run in runs if run.config["method"].startswith("flac")]
    always = any(run.config.get("data_options", {}).get("q") == 1 for run in flac)
    small = [run for run in flac if run.config.get("train", {}).get("batch_size", SMALL_BATCH + 1) <= SMALL_BATCH]
    several = any(len(run.result.get("attributes") or {}) > 1 for run in flac)
    return [
        Caveat(
            "FLAC learns from images whose attribute does not go with their class. Where the two always go together "
            "(a correlation of 100 %) there are none, and FLAC is ordinary training.",
            "This is so here: q = 1." if always else "",
        ),
        Caveat(
            f"It compares images within a batch. In batches of {SMALL_BATCH} or less there are few pairs to compare, "
            "and it gains little.",
            f"This is so here: batch_size = {small[0].config['train']['batch_size']}." if small else "",
        ),
        Caveat(
            "It is made for one attribute. Against several at once, one bias model has to see all of them.",
            "There are several attributes here." if several else "",
        ),
        Caveat("It is as good as its bias model: an attribute that the bias model does not see stays in the model."),
        Caveat(
            "A model that ignores an attribute can still treat people unequally. The groups below 30 images, and "
            "groups that no test image shows, are where this report says least."
        ),
    ]
