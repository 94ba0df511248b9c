"""Tables of seconds, on digits: `python tiny_tables.py EPOCHS reproduce table2 …` is the program with them."""

import sys


def tiny_tables(epochs: int) -> None:
    """From now on, in this process."""
    from fairflac.reproduction import published

    small = {"epochs": epochs, "channels": [2, 2, 2, 2], "kernel_size": 3, "precision": "32-true"}
    scale = published.ReducedScale("tiny", "biased-digits", small, seeds=1)
    published._load_scales = lambda: {"table2": scale, "table11": scale}  # type: ignore[assignment]


if __name__ == "__main__":
    tiny_tables(int(sys.argv.pop(1)))
    from fairflac.cli import main

    main()
