"""Tables of images and of predictions, some of which hold the images themselves."""

import io
import random
import tarfile
from pathlib import Path

from chaos.kinds.case import Words, encoded, output, settings, training, write
from chaos.mutations import TOKENS, damaged, hostile, misspelt
from chaos.world import SETTINGS, World


def _table_commands(world: World, path: str, rng: random.Random, case: Path) -> Words:
    model = str(world.seeds / "ours.safetensors")
    data = ["--data", str(case / "out" / "data")]
    extra = rng.choice(
        ([], [], ["--allow-outside"], ["--path-column", hostile(rng)], ["--label-column", hostile(rng)], ["--strict"])
    )
    unlabelled = [] if "--label-column" in extra else extra
    choices: tuple[Words, ...] = (
        ["data", "check", path, *data, *extra],
        ["data", "check", path, *data, "--json"],
        ["predict", model, path, *unlabelled],
        ["train", "csv", "vanilla", *settings(path=path, **SETTINGS), *training(case, case / "out" / "data")],
    )
    return rng.choices(choices, (4, 2, 3, 0.3))[0]


def _beside_photos(world: World, case: Path) -> None:
    (case / "in" / "photos").symlink_to(world.photos, target_is_directory=True)


def tables(world: World, case: Path, rng: random.Random) -> Words:
    name = rng.choice(("table.csv", "table.tsv"))
    change = _hostile_cells if rng.random() < 0.4 else misspelt
    text = change(rng, world.seed(name).decode())
    content = encoded(text) if rng.random() < 0.9 else text.encode(rng.choice(("utf-16", "utf-8-sig")), "replace")
    if rng.random() < 0.1:
        content = damaged(rng, content)
    _beside_photos(world, case)
    return _table_commands(world, write(case, rng, name, content), rng, case)


def _hostile_cells(rng: random.Random, text: str) -> str:
    """Whole columns renamed, and values that a table may well have: every `above` becomes something else."""
    known = ("above", "below", "red", "blue", "label", "colour", "split", "train", "path", "cat", "dog", "sex")
    for word in rng.sample(known, 3):
        name = hostile(rng)[:5000]
        quoted = '"' + name.replace('"', '""') + '"'
        text = text.replace(f",{word}", f",{quoted}").replace(f"\t{word}", f"\t{quoted}")
    return text


def json_lines(world: World, case: Path, rng: random.Random) -> Words:
    text = misspelt(rng, world.seed("table.jsonl").decode())
    _beside_photos(world, case)
    return _table_commands(world, write(case, rng, "table.jsonl", encoded(text)), rng, case)


def parquet(world: World, case: Path, rng: random.Random) -> Words:
    name = rng.choice(("table.parquet", "paths.parquet", "table.arrow"))
    content = world.seed(name)
    if name.endswith("parquet") and rng.random() < 0.5:  # the footer is where the sizes are
        cut = len(content) - rng.randrange(8, 900)
        content = content[:cut] + damaged(rng, content[cut:])
    else:
        content = damaged(rng, content)
    _beside_photos(world, case)
    return _table_commands(world, write(case, rng, name, content), rng, case)


def tars(world: World, case: Path, rng: random.Random) -> Words:
    """Damaged anywhere, or whole with members of odd names, kinds, sizes and contents."""
    if rng.random() < 0.5:
        content = damaged(rng, world.seed("table.tar"))
    else:
        content = _odd_members(rng, world.seed("table.tar"))
    return _table_commands(world, write(case, rng, "table.tar", content), rng, case)


def _odd_members(rng: random.Random, content: bytes) -> bytes:
    result = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(content)) as old, tarfile.open(fileobj=result, mode="w") as new:
        members = old.getmembers()
        chosen = rng.sample(members, rng.choice((1, 2, 8)))
        for member in members:
            body = old.extractfile(member).read()  # type: ignore[union-attr]
            if member in chosen:
                body = _odd(rng, member, body)
            new.addfile(member, io.BytesIO(body))
    return result.getvalue()


def _odd(rng: random.Random, member: tarfile.TarInfo, body: bytes) -> bytes:
    """Changed in place → what it holds."""
    draw = rng.randrange(4)
    if draw == 0:
        member.name = rng.choice(
            (f"{hostile(rng)[:200]}{member.name[-4:]}", "/etc/passwd", "../../x.png", member.name * 20)
        )
    elif draw == 1:
        member.type = rng.choice((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE))
        member.linkname, member.size, body = "/etc/passwd", 0, b""
    else:
        body = encoded(rng.choice((*TOKENS, hostile(rng)))) if draw == 2 else damaged(rng, body)
        member.size = len(body)
    return body


def groups(world: World, case: Path, rng: random.Random) -> Words:
    text = world.seed("groups.csv").decode()
    text = _hostile_cells(rng, text) if rng.random() < 0.3 else misspelt(rng, text)
    _beside_photos(world, case)
    path = write(case, rng, "groups.csv", encoded(text))
    changes = {**SETTINGS, "epochs": 1}
    words = ["train", "folder", "flac-b", *settings(path=world.photos, groups=path, **changes)]
    return [*words, *training(case, world.data)]


def predictions_csv(world: World, case: Path, rng: random.Random) -> Words:
    text = world.seed("predictions.csv").decode()
    text = _hostile_cells(rng, text) if rng.random() < 0.4 else misspelt(rng, text)
    path = write(case, rng, "predictions.csv", encoded(text))
    known: tuple[Words, ...] = ([], [], ["--json"], ["--attribute", "sex"], ["--positive", "cat"])
    extra = rng.choice((*known, ["--score-prefix", "score_"], ["--prediction-column", hostile(rng)]))
    page = output(case, "page.html") if rng.random() < 0.15 else []
    return ["audit", path, *extra, *page]
