"""Moving averages by sample index."""

import torch

from fairflac.losses.reweighting import SampleTable


def test_first_visit_sets_and_later_ones_move() -> None:
    table = SampleTable(decay=0.7)
    table.resize(4)
    index = torch.tensor([2, 0])
    torch.testing.assert_close(table.update(index, torch.tensor([1.0, 5.0])), torch.tensor([1.0, 5.0]))
    torch.testing.assert_close(table.update(index, torch.tensor([2.0, 5.0])), torch.tensor([0.7 * 1 + 0.3 * 2, 5.0]))
    assert table.values[[1, 3]].isnan().all()


def test_largest_value_of_each_class() -> None:
    table = SampleTable(decay=0.5)
    table.resize(5)
    table.update(torch.tensor([0, 1, 3]), torch.tensor([1.0, 4.0, -2.0]))
    maxima = table.class_maxima(torch.tensor([0, 0, 1, 1, 2]), 3)
    assert maxima.tolist() == [4.0, -2.0, -torch.inf]


def test_a_saved_table_brings_its_size() -> None:
    table, copy = SampleTable(0.5), SampleTable(0.5)
    table.resize(3)
    table.update(torch.tensor([1]), torch.tensor([2.0]))
    copy.load_state_dict(table.state_dict())
    torch.testing.assert_close(copy.values, table.values, equal_nan=True)
