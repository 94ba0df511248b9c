"""What is tried: for each kind of input a function that writes one and says with which command it is used."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chaos.kinds.case import Words
from chaos.kinds.command_lines import command_lines
from chaos.kinds.configs import configs, features
from chaos.kinds.images import images
from chaos.kinds.models import checkpoints, onnx, safetensors, torchscript
from chaos.kinds.runs import run_directories
from chaos.kinds.tables import groups, json_lines, parquet, predictions_csv, tables, tars
from chaos.world import World

Trial = Callable[[World, Path, random.Random], Words]  # writes below the folder of a case → words after `fairflac`


@dataclass(frozen=True)
class Kind:
    share: float  # of all inputs
    trial: Trial


KINDS = {
    "images": Kind(0.22, images),
    "csv and tsv tables": Kind(0.14, tables),
    "json lines": Kind(0.04, json_lines),
    "parquet and arrow": Kind(0.08, parquet),
    "tar files": Kind(0.04, tars),
    "groups.csv": Kind(0.04, groups),
    "predictions.csv": Kind(0.10, predictions_csv),
    "toml configs": Kind(0.08, configs),
    "npy features": Kind(0.04, features),
    "safetensors": Kind(0.05, safetensors),
    "onnx": Kind(0.04, onnx),
    "torchscript": Kind(0.04, torchscript),
    "pickles and checkpoints": Kind(0.05, checkpoints),
    "run directories": Kind(0.08, run_directories),
    "command lines": Kind(0.10, command_lines),
}
