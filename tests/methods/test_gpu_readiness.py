"""What a GPU asks of a training step, checked without one: nothing in it waits for the device, or needs its values."""

import traceback
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins.precision import MixedPrecision
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fairflac.data.batches import to_device
from fairflac.losses import FLACLoss, class_given_bias
from fairflac.losses.contrastive import class_dissimilarity
from fairflac.methods import Method
from fairflac.methods.ssa import split_by_group
from fairflac.nets.resnet import ResNet18
from fairflac.nets.small import SimpleConvNet
from fairflac.nets.textures import BagNet18
from fairflac.types import Batch, Network, Output
from toy import CASES, toy_training

each_case = pytest.mark.parametrize("name", CASES)
# Operations whose result, or its shape, the host must know: on a GPU it waits for all work before.
WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "_unique2", "unique_dim", "bincount", "equal")
# Methods whose step waits, and why.
CPU_FORM = ("fused.py", "problem.py", "listed.py", "tiled.py")  # of FLAC's loss, which computes on the host
WAITS = {"cgl": "its HSIC is that of each class, and how many samples of a class are in the batch depends on labels"}


class Waits(TorchDispatchMode):
    """Counts such operations, by the line that asks for them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name().removeprefix("aten::").partition(".")[0]
        by_mask = name in ("index", "index_put", "index_put_") and any(
            index is not None and index.dtype == torch.bool for index in args[1]
        )
        if by_mask or name in WAITING:
            ours = [frame for frame in traceback.extract_stack() if "/fairflac/" in frame.filename]
            self.found[f"{name} in {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else name] += 1
        return func(*args, **kwargs or {})


class NoDoubles(TorchDispatchMode):
    """As on a device that has no fp64: a tensor of it is an error there."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **kwargs or {})
        doubles = [x for x in tree_leaves(found) if isinstance(x, Tensor) and x.dtype == torch.float64]
        assert not any(x.device.type == self.device for x in doubles), f"{func.name()} makes doubles"
        return found


@pytest.fixture
def without_double(monkeypatch: pytest.MonkeyPatch) -> None:
    """All devices are as Apple's GPUs."""
    monkeypatch.setattr("fairflac.system.hardware.WITHOUT_DOUBLE", ("cpu", "meta"))


class MetaAutocast(torch.autocast):
    """Autocast does not know the meta device."""

    def __init__(self, device_type: str, *args: Any, **kwargs: Any) -> None:
        super().__init__("cpu" if device_type == "meta" else device_type, *args, **kwargs)


def moved(x: Any) -> Any:
    """The same with all tensors on the meta device, which has shapes and no values: to ask for one is an error."""
    if isinstance(x, torch.nn.Module):
        for key, value in vars(x.to("meta")).items():
            if isinstance(value, Tensor) or hasattr(value, "__dict__"):
                setattr(x, key, moved(value))
        return x
    if isinstance(x, Output):
        return Output(*map(moved, x))
    if isinstance(x, Batch):
        views, hidden = tuple(map(moved, x.views)), {key: moved(getattr(x, key)) for key in ("_bias", "_bias_output")}
        others = tuple(map(moved, x._other_bias_outputs))
        return replace(x, views=views, y=moved(x.y), index=moved(x.index), _other_bias_outputs=others, **hidden)
    if isinstance(x, Tensor):
        return x.to("meta")
    if type(x).__module__.startswith("fairflac.losses"):
        for key, value in vars(x).items():
            setattr(x, key, moved(value))
    return x


def in_the_middle(name: str, folder: Path, fabric: Fabric) -> tuple[Any, Method, Batch]:
    """A training of some epochs ago, past all stages, and its next batch."""
    training = toy_training(name, folder, fabric)
    method = training.method
    for epoch in range(3):
        method.begin_epoch(epoch, training.batch_of.unaugmented())
        for index in training._batches(epoch)[:2]:
            method.step(training.batch_of(index, epoch), training.optimisation)
    return training, method, training.batch_of(training._batches(3)[0], 3)


@each_case
def test_a_step_waits_for_nothing(name: str, fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the update on the CPU, where such an operation is seen; then on the meta device, where it is an error."""
    training, method, batch = in_the_middle(name, tmp_path, fabric)
    with Waits() as waits:
        method.step(batch, training.optimisation)
    ours = {place: n for place, n in waits.found.items() if not any(file in place for file in CPU_FORM)}
    waits.found = Counter(ours)
    monkeypatch.setattr(torch, "autocast", MetaAutocast)
    method = moved(method)
    groups = {key: [*group] for key, group in method.parameter_groups().items()}

    def minimise(loss: Tensor, *names: str) -> None:
        chosen = [p for key in names or groups for p in groups[key] if p.requires_grad]
        torch.autograd.grad(loss, chosen, allow_unused=True)

    if name in WAITS:
        assert waits.found
        with pytest.raises((RuntimeError, NotImplementedError)):
            method.step(moved(batch), minimise)
        return
    assert not waits.found
    logs = method.step(moved(batch), minimise)
    assert logs["loss"].device.type == "meta"


@pytest.mark.usefixtures("without_double")
@pytest.mark.parametrize("name", [name for name in CASES if name not in WAITS])
def test_a_step_needs_no_double(name: str, fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, method, batch = in_the_middle(name, tmp_path, fabric)
    assert not any(x.dtype == torch.float64 for x in method.state_dict().values())
    monkeypatch.setattr(torch, "autocast", MetaAutocast)
    method, batch = moved(method), moved(batch)
    with NoDoubles("meta"):
        method.step(batch, lambda loss, *names: None)


@pytest.mark.usefixtures("without_double")
def test_counting_a_training_set_needs_no_double() -> None:
    y, bias = torch.tensor([0, 0, 0, 1]), torch.tensor([0, 0, 1, 1])
    with NoDoubles("cpu"):
        prior = class_given_bias(y, bias, torch.ones(4), num_classes=2, num_bias=2)
        weights = class_dissimilarity(torch.eye(2)[bias], y)
        first = split_by_group(y, 0.5)
        with pytest.raises(AssertionError, match="makes doubles"):
            prior.double()
    assert prior.tolist() == [[1, 0], [0.5, 0.5]] and weights.tolist() == pytest.approx([1 / 3, 1 / 3, 2 / 3, 0])
    assert int(first[:3].sum()) == 1 and not first[3]


def test_such_operations_are_seen() -> None:
    """Or the test above could not fail."""
    x = torch.arange(4.0)
    with Waits() as waits:
        float(x.sum()), x[x > 1], x.unique(), torch.bincount(x.long())
    assert waits.found.total() == 4
    with pytest.raises(RuntimeError):
        float(x.to("meta").sum())


@pytest.mark.filterwarnings("ignore")  # of torch.compile itself
@pytest.mark.parametrize("net", [SimpleConvNet, pytest.param(ResNet18, marks=pytest.mark.slow)])
def test_networks_compile_in_one_piece(net: type[Network]) -> None:
    network = net(10).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    compiled = torch.compile(network, backend="eager", fullgraph=True)  # a break would be an error
    x = torch.randn(2, 3, 32, 32).contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(compiled.eval()(x).logits, network.eval()(x).logits)


@pytest.mark.parametrize("net", [SimpleConvNet, ResNet18, BagNet18])
def test_every_map_stays_channels_last(net: type[Network]) -> None:
    """A layer that changed the layout would have every later one copy its input."""
    network, layouts = net(2).to(memory_format=torch.channels_last), []  # type: ignore[call-overload]
    for module in network.modules():
        module.register_forward_hook(lambda _, __, y: layouts.append(y) if isinstance(y, Tensor) else None)
    network(torch.randn(2, 3, 32, 32).contiguous(memory_format=torch.channels_last))
    maps = [y for y in layouts if y.ndim == 4 and y.shape[2] > 1]
    assert maps and all(y.is_contiguous(memory_format=torch.channels_last) for y in maps)


@pytest.mark.filterwarnings("ignore")
def test_the_loss_is_one_break() -> None:
    """Before and after it, a step is compiled."""
    loss, (b, h) = FLACLoss(), torch.randn(2, 8, 4)
    y = torch.tensor([0, 1] * 4)
    found = torch._dynamo.explain(lambda h: 2 * loss(b, h.relu() + 0.1, y))(h.requires_grad_())
    assert found.graph_break_count == 1 and found.graph_count == 2


@pytest.mark.slow
@each_case
def test_trains_in_fp16_with_a_scaler(name: str, tmp_path: Path) -> None:
    """As a GPU would; a CPU takes long."""
    fabric = Fabric(accelerator="cpu", devices=1, plugins=MixedPrecision("16-mixed", "cpu"))
    history = toy_training(name, tmp_path, fabric, epochs=3).fit(name, silent=True).history
    assert len(history) == 3


def test_copies_to_a_gpu_are_pinned_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both calls need a GPU, so that here is seen only that they are made."""
    calls: list[Any] = []
    monkeypatch.setattr(Tensor, "pin_memory", lambda x: calls.append("pinned") or x)
    monkeypatch.setattr(Tensor, "to", lambda x, device, non_blocking: calls.append((device.type, non_blocking)) or x)
    to_device(torch.zeros(2), torch.device("cuda"))
    to_device(torch.zeros(2), torch.device("cpu"))
    assert calls == ["pinned", ("cuda", True), ("cpu", True)]
