"""Configs in TOML, and features in npy files."""

import pickle
import random
import struct
from pathlib import Path

from chaos.kinds.case import Words, encoded, output, settings, training, write
from chaos.kinds.models import Payload
from chaos.mutations import NUMBERS, TOKENS, damaged, hostile, misspelt
from chaos.world import World


def configs(world: World, case: Path, rng: random.Random) -> Words:
    text = world.seed("config.toml").decode()
    draw = rng.random()
    if draw < 0.1:
        deep = rng.choice((10, 500, 5000, 100_000))
        text = rng.choice(
            (f"a = {'[' * deep}", f"a = {'[' * deep}{']' * deep}\n", f"{'a.' * deep}a = 1\n", f"a = {'{b=' * deep}")
        )
    elif draw < 0.2:
        text += f"\n[train]\n{hostile(rng)} = {rng.choice(TOKENS)}\n"
    else:
        text = misspelt(rng, text)
    path = write(case, rng, "config.toml", encoded(text))
    bounded = settings(epochs=1, batch_size=8, size=8, net="simple-conv", channels=[2, 2, 2, 2], kernel_size=3)
    return ["train", "--config", path, *bounded, *training(case, world.data)]


def features(world: World, case: Path, rng: random.Random) -> Words:
    content = world.seed("features.npy")
    if rng.random() < 0.4:
        shape = tuple(rng.choice((*NUMBERS, 36)) for _ in range(rng.choice((0, 1, 2, 2, 3, 40))))
        dtype = rng.choice(("<f4", "<f8", "|O", "<U99999999", "|V2147483647", "<M8[s]", "<c16", "junk"))
        head = repr({"descr": dtype, "fortran_order": rng.random() < 0.5, "shape": shape}).encode()
        content = (
            b"\x93NUMPY\1\0" + struct.pack("<H", len(head) + 1) + head + b"\n" + rng.randbytes(rng.choice((0, 720)))
        )
        if dtype == "|O":
            content += pickle.dumps(Payload(str(case / "canary")))
    else:
        content = damaged(rng, content)
    path = write(case, rng, "features.npy", content)
    return ["discover", str(world.photos), "--features", path, "--data", str(world.data), *output(case, "groups")]
