"""In place of torchmetrics, which lightning-fabric imports to ask for its version where it is installed.

That brings transformers, scipy and matplotlib: three seconds in each process of the tests, and in each that they start.
Those who install fairflac do not have it; here it comes with lightning, for the programs of `docs/loss.md`.
"""

raise ImportError("left out, so that a process starts fast")
