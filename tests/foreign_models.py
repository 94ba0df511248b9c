"""Model files as other programs write them, and what they must answer, computed by hand."""

import warnings
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

CLASSES = ("a", "b", "c", "d")
WEIGHT = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
IMAGES = np.random.default_rng(1).integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)
# Of ImageNet, as published.
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def expected(images: np.ndarray = IMAGES) -> np.ndarray:
    """Logits of a model of mean colours."""
    answer: np.ndarray = ((images / 255 - MEAN) / STD).mean((1, 2)) @ WEIGHT.T
    return answer


class Colours(nn.Module):
    """Without a last layer."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((2, 3))


class MeanColour(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 4, bias=False)
        self.fc.weight.data = torch.from_numpy(WEIGHT)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.fc(x.mean((2, 3)))
        return logits


def torchscript(path: Path, module: nn.Module | None = None) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch would rather see torch.export
        torch.jit.save(torch.jit.trace(module or MeanColour(), torch.zeros(2, 3, 8, 8)), path)
    return path


def onnx_file(path: Path, shape: tuple[int | str, ...] = ("n", 3, 8, 8), kind: int = TensorProto.FLOAT) -> Path:
    weight = WEIGHT[:, : 1 if shape[1] == 1 else 3].astype(helper.tensor_dtype_to_np_dtype(kind))
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("Gemm", ["mean", "weight"], ["answer"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "mean colour",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("answer", kind, [shape[0], 4])],
        [numpy_helper.from_array(weight, "weight")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path
