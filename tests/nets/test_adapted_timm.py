"""Networks of timm, where it can be imported: it needs a torchvision that fits to torch."""

import sys

import pytest
import torch

from fairflac.errors import UserError
from fairflac.nets import NETS


def test_without_timm_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)  # what Python does with a package that is not there
    with pytest.raises(UserError, match=r'pip install "fairflac\[timm\]"'):
        NETS["timm"](2, model="resnet10t")


@pytest.fixture
def timm() -> None:
    try:
        import timm  # noqa: F401
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"timm cannot be imported: {error}")


@pytest.mark.usefixtures("timm")
@pytest.mark.parametrize("model", ["resnet10t", "mobilenetv3_small_050", "vit_tiny_patch16_224"])
def test_networks_of_any_image_size(model: str) -> None:
    net = NETS["timm"](7, model=model).eval()
    output = net(torch.rand(2, 3, 64, 64))
    assert output.logits.shape == (2, 7)
    torch.testing.assert_close(net.fc(output.features), output.logits)


@pytest.mark.usefixtures("timm")
def test_mistakes_with_timm() -> None:
    with pytest.raises(UserError, match="did you mean 'resnet10t'"):
        NETS["timm"](2, model="resnet10x")
    with pytest.raises(UserError, match="timm cannot make"):
        NETS["timm"](2, model="resnet10t.nothing")
    with pytest.raises(UserError, match="224 x 224 only"):
        NETS["timm"](2, model="mixer_s32_224")(torch.rand(2, 3, 64, 64))
