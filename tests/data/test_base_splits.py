import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairflac.data.base import hash_split, stratified_split


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), min_size=1, max_size=80), st.integers(0, 5))
def test_copies_never_straddle_and_nothing_is_lost(samples: list[tuple[int, int]], seed: int) -> None:
    digests, y = (np.array(column) for column in zip(*samples, strict=True))
    places = stratified_split(digests.astype(np.uint64), y, seed, 0.2, 0.2)
    assert sorted(np.concatenate(list(places.values())).tolist()) == list(range(len(y)))
    contents = [set(digests[rows].tolist()) for rows in places.values()]
    assert sum(map(len, contents)) == len(set(digests.tolist()))


def test_shares_hold_in_every_class_and_depend_on_the_seed() -> None:
    digests, y = np.arange(400, dtype=np.uint64), np.repeat([0, 1], [300, 100])
    places = stratified_split(digests, y, 0, 0.1, 0.2)
    assert [int((y[places[name]] == 1).sum()) for name in ("train", "validation", "test")] == [70, 10, 20]
    other = stratified_split(digests, y, 1, 0.1, 0.2)
    assert not np.array_equal(places["test"], other["test"])


def test_the_order_of_files_does_not_matter() -> None:
    digests, y = np.arange(50, dtype=np.uint64), np.arange(50) % 3
    order = np.random.default_rng(0).permutation(50)
    first, second = stratified_split(digests, y, 0, 0.2, 0.2), stratified_split(digests[order], y[order], 0, 0.2, 0.2)
    assert set(digests[first["test"]].tolist()) == set(digests[order][second["test"]].tolist())


def test_small_classes_keep_something_to_train_on() -> None:
    for n in range(1, 8):
        places = stratified_split(np.arange(n, dtype=np.uint64), np.zeros(n, int), 0, 0.4, 0.5)
        assert len(places["train"]) >= 1 and (n < 3 or len(places["test"]) >= 1)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=80), st.integers(0, 5))
def test_names_are_dealt_once_and_copies_stay_together(contents: list[int], seed: int) -> None:
    names, digests = [f"{i}.jpg" for i in range(len(contents))], np.array(contents, dtype=np.uint64)
    parts = hash_split(names, (0.5, 0.3, 0.2), seed, digests)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(names)))
    assert sum(len(set(digests[part].tolist())) for part in parts) == len(set(contents))
    order = np.random.default_rng(0).permutation(len(names))
    others = hash_split([names[i] for i in order], (0.5, 0.3, 0.2), seed, digests[order])
    for part, other in zip(parts, others, strict=True):
        assert [names[i] for i in part] == [names[order[i]] for i in other]


def test_shares_of_names() -> None:
    parts = hash_split([str(i) for i in range(100)], (0.8, 0.1, 0.1), 0)
    assert [len(part) for part in parts] == [80, 10, 10]
