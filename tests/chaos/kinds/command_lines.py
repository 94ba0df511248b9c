"""Command lines of known and unknown words."""

import random
from pathlib import Path

from chaos.kinds.case import Words
from chaos.mutations import HOSTILE, TOKENS, hostile
from chaos.world import World

COMMANDS = (
    *("train", "tune", "evaluate", "predict", "embed", "export", "debias", "discover", "audit", "compare", "figures"),
    *("report", "reproduce", "list", "data check", "data make-csv", "data get", "demo", "doctor", "serve"),
)
OPTIONS = (
    *("--seed", "--set", "--runs", "--data", "--net", "--size", "--classes", "--top", "--split", "--to", "--only"),
    *("--json", "--strict", "--quiet", "--config", "--precision", "--devices", "--witness", "--features", "--time"),
    *("--attribute", "--name", "--on", "--plugin", "--scale", "--executor", "--path-column", "--label-column", "-o"),
    *("--output", "--csv", "--resume", "--trials", "--port", "--logger", "--version"),
)
# Where valid words mean long work.
LONG = ("demo", "serve", "reproduce", "train", "tune", "debias", "data get", "doctor", "discover")


def command_lines(world: World, case: Path, rng: random.Random) -> Words:
    command = rng.choice(COMMANDS) if rng.random() < 0.97 else hostile(rng)
    files = (world.image, world.photos, world.runs[0], world.seeds / "ours.safetensors")
    known = (*map(str, files), "biased-digits", "flac", "methods", "table2", "csv")
    pool = (*known, *HOSTILE, *TOKENS, "epochs=1", "alpha=x", "epochs=", "=", "a=b=c", "lr=nan", "channels=[", "seed=1")
    words = command.split(" ") if command in COMMANDS else [command]
    for _ in range(rng.randrange(6)):
        choices = OPTIONS if rng.random() < 0.4 else known if rng.random() < 0.5 else pool
        words.append(rng.choice(choices)[:20_000])
    if command in LONG:  # something that no version will ever take, so that nothing long begins
        place = rng.randrange(len(command.split(" ")), len(words) + 1)
        words.insert(place, rng.choice(("--no-such-option", "--seed=x", "--json=maybe")))
    return [word.replace("\0", "") for word in words]
