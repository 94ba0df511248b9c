"""Image files → features, as a file that search engines and other programs read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from fairflac.data.pixels.files import Decoded, decode_files
from fairflac.data.pixels.resample import centre_crop
from fairflac.data.pixels.rows import pyarrow_or_why
from fairflac.errors import UserError
from fairflac.inference.model import BATCH, Classifier
from fairflac.inference.predict import escaped
from fairflac.system.files import check_writable, replacing, write_text
from fairflac.system.tables import csv_text

ENDINGS = (".npy", ".parquet")


@dataclass(frozen=True)
class Embedding:
    """Features of files, in order."""

    paths: list[str]  # of the N that could be read
    features: np.ndarray  # (N, D) float32
    unreadable: dict[str, str]  # why, by path
    files: tuple[Path, ...] = ()  # that were written

    @classmethod
    def of(cls, parts: Sequence["Embedding"]) -> "Embedding":
        """One after the other."""
        paths = [path for part in parts for path in part.paths]
        features = np.concatenate([part.features for part in parts if part.paths] or [np.empty((0, 0), np.float32)])
        return cls(paths, features, {path: why for part in parts for path, why in part.unreadable.items()})

    def written(self, output: Path) -> "Embedding":
        """`.npy` with a row for each image, and beside it `.index.csv`, which says of which; or both in one `.parquet`.

        `photos.npy` beside a table `photos.csv` must not cost the table.
        """
        paths = [escaped(path) for path in self.paths]
        if output.suffix == ".parquet":
            import pyarrow.parquet

            rows = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(self.features.ravel()), self.features.shape[1])
            with replacing(output) as stream:
                pyarrow.parquet.write_table(pyarrow.table({"path": paths, "features": rows}), stream)
            return replace(self, files=(output,))
        with replacing(output) as stream:
            np.save(stream, self.features)
        index = output.with_suffix(".index.csv")
        write_text(index, csv_text([["row", "path"], *enumerate(paths)]))
        return replace(self, files=(output, index))


def check_embedding(model: Classifier, output: Path | None) -> None:
    """Before any image is read."""
    if output is not None:
        if output.suffix not in ENDINGS:
            raise UserError(f"'{output}': what to write follows from the ending, {' or '.join(ENDINGS)}")
        check_writable(output)
    if model.features is None:
        raise UserError(
            f"'{model.source}' shows nothing but its answers: give a run, or a file of weights with its net"
        )
    if output is not None and output.suffix == ".parquet":
        pyarrow_or_why()


def embedded(model: Classifier, paths: Sequence[Path]) -> Iterator[Embedding]:
    """Part by part: the penultimate representation of each file."""
    assert model.features is not None
    files = zip(paths, decode_files(paths, model.decoded_size, model.fit), strict=True)
    while part := list(islice(files, BATCH)):
        good = [(path, image.pixels) for path, image in part if isinstance(image, Decoded)]
        broken = {str(path): str(image) for path, image in part if not isinstance(image, Decoded)}
        features = np.empty((0, 0), np.float32)
        if good:
            pixels = np.stack([image for _, image in good])
            features = model.features(np.ascontiguousarray(centre_crop(pixels, model.image_size)))
        yield Embedding([str(path) for path, _ in good], features.astype(np.float32), broken)
