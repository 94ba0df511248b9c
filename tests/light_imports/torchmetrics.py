"""In place of torchmetrics, which lightning-fabric imports to ask for its version where it is installed.

That brings transformers, scipy and matplotlib: three seconds in each of the processes that tests start. Those who
install fairflac do not have it; here it comes with lightning, for the programs of `docs/loss.md`.
"""

raise ImportError("left out, so that a process starts fast")
