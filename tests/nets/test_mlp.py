import pytest
import torch

from fairflac.errors import UserError
from fairflac.nets.mlp import MLP


def test_features_are_the_last_width() -> None:
    net = MLP(3, inputs=5, widths=(8, 4)).eval()
    output = net(torch.randn(6, 5))
    assert output.features.shape == (6, 4) == (6, net.feature_dim)
    torch.testing.assert_close(net.fc(output.features), output.logits)


def test_inputs_are_standardised_by_all_that_training_has_seen() -> None:
    net = MLP(2, inputs=3)
    x = torch.randn(40, 3) * torch.tensor([1.0, 100.0, 0.01]) + 50
    for part in x.split(10):
        net(part)
    torch.testing.assert_close(net.standardise.running_mean, x.mean(0))
    assert net.eval().standardise(x).std(0).sub(1).abs().max() < 0.1


def test_a_wrong_number_of_inputs_is_told() -> None:
    with pytest.raises(UserError, match="takes 5 numbers: set inputs to 12"):
        MLP(2, inputs=5)(torch.rand(2, 3, 2, 2))


def test_it_has_no_map_in_the_middle() -> None:
    net = MLP(2, inputs=3)
    assert not hasattr(net, "middle")
    with pytest.raises(UserError, match="MLP has none"):
        net.middle_dim  # noqa: B018
