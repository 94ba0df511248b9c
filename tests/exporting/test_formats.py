"""Every method, in every format, answers as it did before."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from fairflac import __version__
from fairflac.config.run_config import NetConfig, RunConfig
from fairflac.data.batches import ImageInputs
from fairflac.exporting.formats import FORMATS, as_onnx
from fairflac.inference.model import ModelMetadata
from fairflac.inference.open import open_model
from fairflac.methods import METHODS, Method
from fairflac.nets.fast_conv import FastConv2d
from fairflac.training.build import build_method
from fairflac.types import TaskSpec
from toy import CASES, TASK

TINY = {"kernel_size": 3, "channels": [3, 4, 5, 6]}
IMAGES = np.random.default_rng(0).integers(0, 256, (5, *TASK.image_size, 3), dtype=np.uint8)


def metadata_of(config: RunConfig, task: TaskSpec = TASK) -> ModelMetadata:
    own = ("net", "net_options", "method", "method_options", "biased_net", "dataset")
    said = {name: getattr(config, name) for name in own}
    return ModelMetadata(**task.to_dict(), decoded_size=task.image_size, fit="cover", fairflac=__version__, **said)


def made(kind: str, **options: object) -> tuple[Method, ModelMetadata]:
    """With random weights and statistics, as if it had been trained."""
    biased = NetConfig(net="simple-conv", net_options=TINY) if METHODS[kind].needs_biased_net else None
    config = RunConfig(
        dataset="toy", method=kind, net="simple-conv", net_options=TINY, method_options=options, biased_net=biased
    )
    torch.manual_seed(0)
    method = build_method(config, TASK).eval()
    for module in method.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.running_mean)
            torch.nn.init.uniform_(module.running_var, 0.5, 2)
    return method, metadata_of(config)


def answers(method: Method) -> np.ndarray:
    with torch.no_grad():
        (x,) = ImageInputs(IMAGES, method.spec, torch.device("cpu"))(torch.arange(len(IMAGES)))
        return method.predict(x).numpy()


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("case", CASES)
def test_every_method_in_every_format(tmp_path: Path, case: str, to: str) -> None:
    kind, options = CASES[case]
    method, metadata = made(kind, **options)
    path = tmp_path / f"model{FORMATS[to].endings[0]}"
    path.write_bytes(FORMATS[to].write(method, metadata))
    model = open_model(str(path))
    assert model.classes == TASK.classes and model.image_size == TASK.image_size
    for size in (1, 5):  # the graph was recorded with another
        found = np.concatenate([model(IMAGES[start : start + size]) for start in range(0, 5, size)])
        assert np.allclose(found, answers(method), atol=1e-5)


@pytest.mark.parametrize("inference", ["logits", "log-probabilities", "probabilities", "max"])
@pytest.mark.parametrize("to", FORMATS)
def test_heads_that_were_never_trained_stay_out_of_the_decision(tmp_path: Path, inference: str, to: str) -> None:
    method, metadata = made("di", inference=inference)
    method.trained = torch.tensor([True, False])
    with_all = answers(made("di", inference=inference)[0])
    assert not np.allclose(answers(method), with_all)
    path = tmp_path / f"model{FORMATS[to].endings[0]}"
    path.write_bytes(FORMATS[to].write(method, metadata))
    assert np.allclose(open_model(str(path))(IMAGES), answers(method), atol=1e-5)


def test_the_graph_takes_bytes_and_gives_logits_and_probabilities() -> None:
    import onnxruntime

    method, metadata = made("vanilla")
    session = onnxruntime.InferenceSession(as_onnx(method, metadata), providers=["CPUExecutionProvider"])
    (images,) = session.get_inputs()
    assert (images.name, images.type, images.shape) == ("images", "tensor(uint8)", ["N", 6, 6, 3])
    logits, probabilities = session.run(["logits", "probabilities"], {"images": IMAGES})
    assert np.allclose(probabilities, torch.from_numpy(logits).softmax(1).numpy(), atol=1e-6)


def test_fast_convolutions_are_ordinary_ones_in_the_graph() -> None:
    """At this size the last ones of the network go by pixels, which as a graph would be a product for each of them."""
    task = TaskSpec(TASK.classes, {}, (16, 16), TASK.mean, TASK.std)
    config = RunConfig(dataset="toy", method="vanilla", net="resnet18", net_options={"stem": "cifar"})
    method = build_method(config, task).eval()
    fast = [module for module in method.modules() if isinstance(module, FastConv2d)]
    assert any(module.goes_by_pixels(torch.zeros(1, module.in_channels, 2, 2)) for module in fast)
    graph = onnx.load_from_string(as_onnx(method, metadata_of(config, task))).graph
    kinds = [node.op_type for node in graph.node]
    assert kinds.count("Conv") == 20 and kinds.count("Gemm") == 1 and "MatMul" not in kinds
    assert all(type(module) is FastConv2d for module in fast)  # the run's own network stays as it was
