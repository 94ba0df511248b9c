"""SSA: what it is shown, whom its predictors learn from, its limits of confidence, and what it makes of the guesses."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from lightning_fabric import Fabric

from fairflac.methods.ssa import SSA, confidence_limits, split_by_group
from toy import build_toy_method, conflicting_accuracy, prepared_training, toy_batches, toy_data


def prepared(fabric: Fabric, n: int = 96, **options: object) -> tuple[SSA, object]:
    torch.manual_seed(0)
    method = build_toy_method("ssa", **options)
    assert isinstance(method, SSA)
    batches = toy_batches(method, toy_data(n), fabric)
    method.prepare(batches.everything())
    return method, batches


def test_only_the_declared_share_of_labels_is_shown(fabric: Fabric) -> None:
    for share in (0.1, 0.5):
        method, batches = prepared(fabric, 200, label_share=share)
        bias = batches.everything().bias  # type: ignore[attr-defined]
        assert int((bias >= 0).sum()) == round(share * 200)
        true = torch.from_numpy(toy_data(200).bias["shade"])
        assert torch.equal(bias[bias >= 0], true[bias >= 0])
        assert not (method.teaches & ~method.labelled).any() and method.teaches.sum() < method.labelled.sum()


def test_half_of_a_batch_teaches_and_half_of_every_group(fabric: Fabric, tmp_path: Path) -> None:
    torch.manual_seed(0)
    method = build_toy_method("ssa", label_share=0.1)
    training = prepared_training(method, toy_data(800), tmp_path, fabric)
    assert isinstance(method, SSA)
    for group in range(4):
        shown = method.labelled & (method._group(method.y, method.bias) == group)
        assert shown.any() and int(method.teaches[shown].sum()) == -(-int(shown.sum()) // 2)  # an odd one teaches
    share = method.teaches[torch.cat([training._batches(epoch).flatten() for epoch in range(4)])].float().mean()
    assert float(share) == pytest.approx(0.5, abs=0.05) and method.teaches.float().mean() < 0.06


def test_guesses_are_those_of_the_held_out_predictor_in_eval_mode(fabric: Fabric) -> None:
    method, batches = prepared(fabric, label_share=0.5)
    method.train()
    modes = []
    for predictor in method.predictors:
        predictor.register_forward_hook(lambda net, *call: modes.append(net.training))
    method.begin_epoch(5, batches.unaugmented())  # type: ignore[attr-defined]
    assert modes == [False] * 3 and all(predictor.training for predictor in method.predictors)
    x = batches.plain(torch.arange(96))[0]  # type: ignore[attr-defined]
    guesses = [predictor(x).logits.argmax(1).tolist() for predictor in method.predictors]
    attributes = method.attributes().tolist()
    for i in range(96):
        expected = method.bias[i] if method.labelled[i] else guesses[method.fold[i]][i]
        assert attributes[i] == int(expected)


def test_loss_of_the_predictors(fabric: Fabric) -> None:
    """One at a time: CE on labels that teach + CE on sure guesses outside the fold."""
    method, batches = prepared(fabric, label_share=0.5, tau=0.5)
    batch, seen = batches(torch.arange(48), 0), []  # type: ignore[operator]
    names = []
    method.step(batch, lambda loss, *groups: (seen.append(loss), names.append(groups)))
    expected = torch.zeros(())
    for fold, predictor in enumerate(method.predictors):
        logits = predictor(batch.x).logits
        p = logits.softmax(1)
        limits = method._limits(fold)
        taught, guessed = [], []
        for i in range(48):
            a = int(p[i].argmax())
            if method.teaches[i]:
                taught.append(-p[i, batch.bias[i]].log())
            elif batch.bias[i] < 0 and method.fold[i] != fold and p[i, a] >= limits[2 * batch.y[i] + a]:
                guessed.append(-p[i, a].log())
        assert taught and guessed
        expected = expected + torch.stack(taught).mean() + torch.stack(guessed).mean()
    torch.testing.assert_close(seen[0], expected)
    assert names == [("predictors",)]


def test_no_predictor_learns_from_its_own_fold(fabric: Fabric) -> None:
    method, batches = prepared(fabric, label_share=0.25, tau=0.5)
    held_out = ((method.fold == 1) & ~method.labelled).nonzero()[:, 0]
    batch, seen = batches(held_out, 0), []  # type: ignore[operator]
    method.step(batch, lambda loss, *groups: seen.append(loss))
    grads = torch.autograd.grad(seen[0], [*method.predictors[1].parameters()], allow_unused=True)
    assert all(grad is None or not grad.any() for grad in grads)
    grads = torch.autograd.grad(
        F.cross_entropy(method.predictors[0](batch.x).logits, batch.y), [*method.predictors[0].parameters()]
    )
    assert any(grad.any() for grad in grads)


def test_attributes_are_labels_or_guesses_of_the_predictor_that_did_not_learn_from_the_image(fabric: Fabric) -> None:
    method, _ = prepared(fabric, label_share=0.5)
    for fold, table in enumerate(method.guesses):
        table.values[:] = fold % 2  # type: ignore[union-attr, index]
    attributes = method.attributes()
    labelled = method.labelled
    assert torch.equal(attributes[labelled], method.bias[labelled])
    assert torch.equal(attributes[~labelled], method.fold[~labelled] % 2)


def test_a_stopped_run_goes_on_with_the_same_groups(fabric: Fabric, tmp_path: Path) -> None:
    torch.manual_seed(0)
    method = build_toy_method("ssa", estimation_epochs=1, label_share=0.5)
    training = prepared_training(method, toy_data(), tmp_path, fabric, epochs=3)
    training.fit("ssa", silent=True)
    again = build_toy_method("ssa", estimation_epochs=1, label_share=0.5)
    assert isinstance(method, SSA) and isinstance(again, SSA)
    again.prepare(toy_batches(again, toy_data(), fabric).everything())
    again.load_state_dict(method.state_dict())
    again.begin_epoch(2, [])
    assert method.group is not None and again.group is not None
    assert torch.equal(method.group, again.group) and torch.equal(method.groups.q, again.groups.q)


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_beats_vanilla(share: float, fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy("ssa", tmp_path, fabric, estimation_epochs=10, label_share=share) > 0.9


def slow(confidence: list[float], group: list[int], labelled: list[int], tau: float) -> list[set[int]]:
    """Which guesses each group takes: the most that keep it within the size of the smallest."""
    smallest = min((n, g) for g, n in enumerate(labelled) if n)[1]
    taken: list[set[int]] = []
    size = labelled[smallest] + sum(c >= tau for c, g in zip(confidence, group, strict=True) if g == smallest)
    for g, own in enumerate(labelled):
        of_group = [i for i, other in enumerate(group) if other == g]
        cuts = [{i for i in of_group if confidence[i] >= cut} for cut in sorted({*confidence, 0.0})] + [set()]
        if g == smallest:
            taken.append({i for i in of_group if confidence[i] >= tau})
        else:
            taken.append(next((cut for cut in cuts if own + len(cut) <= size), set()))
    return taken


guesses = st.lists(st.tuples(st.sampled_from([0.3, 0.5, 0.7, 0.9, 0.96, 0.99]), st.integers(0, 3)), max_size=30)


@given(guesses, st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any))
@settings(deadline=None)
def test_as_many_as_fit(rows: list[tuple[float, int]], labelled: list[int]) -> None:
    confidence, group = [c for c, _ in rows], [g for _, g in rows]
    limits = confidence_limits(
        torch.tensor(confidence), torch.tensor(group, dtype=torch.long), torch.tensor(labelled), tau=0.95
    )
    expected = slow(torch.tensor(confidence).tolist(), group, labelled, 0.95)
    for g, taken in enumerate(expected):
        assert {i for i in range(len(rows)) if group[i] == g and confidence[i] >= limits[g]} == taken


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.sampled_from([0.5, 0.8]))
@settings(deadline=None)
def test_every_group_is_split_alike(group: list[int], share: float) -> None:
    first = split_by_group(torch.tensor(group), share)
    for g in set(group):
        assert sum(bool(f) for f, other in zip(first, group, strict=True) if other == g) == int(share * group.count(g))
