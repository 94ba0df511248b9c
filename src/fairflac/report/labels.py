"""Which labels of the attribute a run had."""

from typing import NamedTuple

from fairflac.report.trained_on import data_in_words, data_of
from fairflac.runs import Run


class Labels(NamedTuple):
    """For people."""

    cell: str  # of a table
    clause: str  # of a sentence about the model; empty where there is nothing to say


def labels(run: Run, attribute: str = "attribute") -> Labels:
    """From what the run wrote down."""
    config, share = run.config, run.result.get("attribute_labels", 0.0)
    stage_one = config.get("bias_model")
    if share:
        part = "" if share == 1 else f" of {100 * share:g} %"
        return Labels(f"class, attribute{part}", f", which had the {attribute} labels{part} of its training images,")
    if any(part.get("train", {}).get("selection", "").startswith("oracle") for part in (config, stage_one or {})):
        return Labels("class, attribute to select", f", whose checkpoint was chosen with {attribute} labels,")
    if stage_one is None:
        return Labels("class", "")
    target = stage_one.get("target", "class").replace("_", " ")
    if target == "class":
        return Labels("class", f", which was trained without a single {attribute} label,")
    if data_of(stage_one) == data_of(config):
        return Labels("class, attribute", f", whose bias model had the {target} labels of the same images,")
    return Labels(
        "class, attribute of other data",
        f", whose bias model learnt the {target} from labels of other data ({data_in_words(stage_one)}),",
    )
