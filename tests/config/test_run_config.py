from itertools import product
from pathlib import Path

import pytest

from fairflac.config.options import options_of, parse_assignments
from fairflac.config.recipes import recipe_methods, recipe_names
from fairflac.config.run_config import RunConfig, TrainConfig, resolve
from fairflac.data import DATASETS
from fairflac.errors import UserError
from fairflac.methods import METHODS
from fairflac.nets import NETS


def test_the_recipe_and_the_users_changes() -> None:
    config = resolve("biased-mnist", "flac", 3, {"epochs": 5, "net": "resnet18", "lr": 0.1})
    assert config.train.epochs == 5 and config.net == "resnet18" and config.train.lr == 0.1
    assert config.train.schedule == "multistep" and config.data_options["q"] == 0.99


@pytest.mark.parametrize(("q", "alpha"), [(0.99, 110), (0.995, 1500), (0.997, 2000), (0.999, 10000)])
def test_the_papers_alphas_follow_q(q: float, alpha: float) -> None:
    assert resolve("biased-mnist", "flac", 0, {"q": q}).method_options["alpha"] == alpha


def test_run_id_is_stable_and_leaves_out_the_seed() -> None:
    first = resolve("biased-digits", "flac", 0)
    assert first.run_id == resolve("biased-digits", "flac", 1).run_id
    assert first.run_id != resolve("biased-digits", "flac", 0, {"alpha": 99}).run_id
    assert first.run_id != resolve("biased-digits", "flac", 0, {"bias_model.epochs": 9}).run_id
    assert RunConfig.model_validate_json(first.model_dump_json()).run_id == first.run_id


def test_config_survives_toml() -> None:
    import tomllib

    config = resolve("biased-digits", "flac-b", 4)
    assert RunConfig.model_validate(tomllib.loads(config.to_toml())) == config


def test_stage_one_of_flac_is_shared_by_all_seeds() -> None:
    stages = [resolve("biased-digits", "flac", seed).stage_one() for seed in (0, 1)]
    assert stages[0] == stages[1]
    assert stages[0] is not None and stages[0].target == "colour" and stages[0].data_options["q"] == 0.1


def test_stage_one_of_flac_b_is_the_vanilla_run() -> None:
    changes = {"epochs": 3, "q": 0.95}
    stage = resolve("biased-digits", "flac-b", 7, changes).stage_one()
    assert stage == resolve("biased-digits", "vanilla", 7, changes)


def test_further_bias_models_are_as_the_first_but_for_what_is_said() -> None:
    changes = {"bias_model.epochs": 2, "other_bias_models": [{"target": "frame"}, {"epochs": 9}]}
    first, frame, longer = resolve("biased-digits", "flac", 3, changes).stages_one()
    assert frame == first.model_copy(update={"target": "frame"})
    assert longer.train.epochs == 9 and first.train.epochs == 2 and longer.target == "colour"
    follows = resolve("biased-digits", "flac-b", 3, {"other_bias_models": [{"kind": "early"}]}).stages_one()
    assert [(one.seed, one.train.epochs) for one in follows] == [(3, 10), (3, 1)]


def test_runs_without_further_bias_models_keep_the_id_that_they_had() -> None:
    assert "other_bias_models" not in resolve("biased-digits", "flac").to_toml()
    assert resolve("biased-digits", "flac", 0, {"q": 0.97}).run_id == "715a1e75fc"
    several = resolve("biased-digits", "flac", 0, {"other_bias_models": [{"target": "frame"}]})
    assert several.run_id != resolve("biased-digits", "flac").run_id
    assert RunConfig.model_validate_json(several.model_dump_json()) == several


def test_stage_one_has_settings_of_its_own() -> None:
    stage = resolve("biased-digits", "flac", 0, {"bias_model.net": "resnet18", "bias_model.epochs": 2}).stage_one()
    assert stage is not None and stage.net == "resnet18" and stage.train.epochs == 2


@pytest.mark.parametrize(
    ("dataset", "method", "changes", "message"),
    [
        ("biased-mnits", "flac", {}, "did you mean 'biased-mnist'"),
        ("biased-digits", "flac", {"bias_model": "nowhere"}, "there is no 'nowhere': give a run directory"),
        ("biased-digits", "flac", {"bias_model": 3}, "give a run directory"),
        ("biased-digits", "flac", {"bias_model.epochs": 0}, "epochs = 0 trains nothing"),
        ("folder", "flac-b", {}, "path is missing: set path"),
        ("biased-mnist", "flca", {}, "did you mean 'flac'"),
        ("biased-mnist", "flac", {"alhpa": 1}, "did you mean 'alpha'"),
        ("biased-mnist", "flac", {"net": "resnet81"}, "did you mean 'resnet18'"),
        ("biased-mnist", "flac", {"bias_model.epoch": 1}, "did you mean 'epochs'"),
        ("biased-mnist", "vanilla", {"bias_model.epochs": 1}, "has no bias model"),
        ("utkface", "flac", {"other_bias_models": 3}, "other_bias_models = 3 is not valid: give a list"),
        ("utkface", "flac", {"other_bias_models": ["age"]}, "give a list with a table for each"),
        ("utkface", "flac", {"other_bias_models": [{"targt": "age"}]}, "did you mean 'target'"),
        ("utkface", "flac", {"other_bias_models": [{"target": "ages"}]}, "did you mean 'age'"),
        ("utkface", "flac", {"other_bias_models": [{"run": "nowhere"}]}, "there is no 'nowhere'"),
        ("utkface", "flac", {"combine": "max"}, "combine says .* set other_bias_models"),
        ("utkface", "flac", {"combine": "mean", "other_bias_models": [{"target": "age"}]}, "combine = 'mean'"),
        ("utkface", "softcon", {"other_bias_models": [{"target": "age"}]}, "'softcon' takes one bias model"),
        ("utkface", "vanilla", {"other_bias_models": [{"target": "age"}]}, "'vanilla' has no bias model: remove"),
        ("biased-mnist", "vanilla", {"target": "color"}, "did you mean 'colour'"),
        ("biased-mnist", "vanilla", {"selection": "best"}, "selection rule"),
        ("biased-mnist", "flac", {"q": 0.05}, "q = 0.05 is not valid"),
        ("biased-mnist", "flac", {"q": 1.5}, "less than or equal to 1"),
        ("utkface", "flac", {"balance": "logits"}, "balance asks the bias model .* set bias_features = 'cached'"),
        ("biased-mnist", "flac", {"alpha": -1}, "alpha = -1 is not valid"),
        ("biased-mnist", "flac", {"batch_size": 1}, "batch_size = 1 is not valid"),
        ("biased-mnist", "flac", {"epochs": "many"}, "valid integer"),
        ("biased-mnist", "flac", {"precision": "8-bit"}, "precision"),
    ],
)
def test_mistakes_are_named(dataset: str, method: str, changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        resolve(dataset, method, 0, changes)


def test_every_setting_has_one_home() -> None:
    """A plain `--set key=value` must mean one thing, whatever the dataset, network and method."""
    for parts in product(DATASETS.values(), NETS.values(), METHODS.values()):
        names = [name for part in parts for name in options_of(part).model_fields]
        names += [*TrainConfig.model_fields, "net", "target", "bias_model"]
        assert len(names) == len(set(names)), parts


def test_every_recipe_resolves() -> None:
    for dataset in recipe_names():
        assert dataset in DATASETS
        for method in recipe_methods(dataset):
            needed = {"path": "pets"} if dataset in ("folder", "csv") else {}
            assert resolve(dataset, method, 0, needed).method == method


def test_every_recipe_resolves_for_a_frozen_network(tmp_path: Path) -> None:
    """Or says in a line why it cannot: some methods need images, some bring a second network that does."""
    refused = set()
    for dataset, method in ((one, method) for one in recipe_names() for method in recipe_methods(one)):
        changes = {"net": "frozen-resnet18"} | ({"path": "pets"} if dataset in ("folder", "csv") else {})
        try:
            config = resolve(dataset, method, 0, changes, tmp_path)
        except UserError as error:
            refused |= {(method, "embeddings" in str(error))}
        else:
            assert config.train.augment == "none" and config.train.bias_features == "cached"
            assert config.net_options["weights"] == "imagenet" and not config.lacks_weights
    assert refused == {("hex", True), ("rebias", True), ("rubi", True)}


def test_assignments() -> None:
    assert parse_assignments(["q=0.95", "net=resnet18", "strides=[1, 2]", "x = y=z"]) == {
        "q": 0.95,
        "net": "resnet18",
        "strides": [1, 2],
        "x": "y=z",
    }
    for wrong in ("q", "=1"):
        with pytest.raises(UserError, match="key=value"):
            parse_assignments([wrong])


@pytest.mark.parametrize("kind", ["vanilla", "early", "gce", "small"])
def test_kinds_of_bias_models_need_no_attribute(kind: str) -> None:
    stage = resolve("biased-digits", "flac-b", 5, {"bias_model.kind": kind}).stage_one()
    assert stage is not None and stage.target == "class" and stage.seed == 5
    assert {"early": stage.train.epochs == 1, "gce": stage.method == "gce", "small": True, "vanilla": True}[kind]
    assert (stage.net_options["kernel_size"] == 1) == (kind == "small")
    if kind == "vanilla":
        assert stage == resolve("biased-digits", "vanilla", 5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bias_model.kind": "erly"}, "did you mean 'early'"),
        ({"bias_model.method": "flac"}, "unknown method 'flac' of the bias model"),
    ],
)
def test_wrong_bias_models_are_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        resolve("biased-digits", "flac-b", 0, changes)


def test_only_some_methods_have_a_biased_network() -> None:
    with pytest.raises(UserError, match="'vanilla' has no biased network"):
        resolve("biased-digits", "vanilla", 0, {"biased_net.kernel_size": 1})


@pytest.mark.parametrize(
    ("method", "changes", "message"),
    [
        ("lm", {"bias_model.target": "colour"}, "classes of biased-digits"),
        ("jtt", {"bias_model.target": "colour"}, "classes of biased-digits"),
        ("disent-be", {"bias_model.kind": "early"}, "a run of gce-committee"),
    ],
)
def test_bias_models_that_a_method_cannot_use(method: str, changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        resolve("biased-digits", method, 0, changes)


@pytest.mark.parametrize("method", ["vanilla", "di", "end", "lnl", "bc-bb", "fairkl"])
def test_baselines_of_utkface_have_the_weight_decay_of_their_source(method: str) -> None:
    assert resolve("utkface", method, 0).train.weight_decay == 1e-4


@pytest.mark.parametrize("changes", [("softcon", {}), ("fairkl-lu", {}), ("flac-b", {"bias_model.kind": "vanilla"})])
def test_a_vanilla_bias_model_of_utkface_is_the_vanilla_run(changes: tuple[str, dict[str, object]]) -> None:
    assert resolve("utkface", changes[0], 0, changes[1]).stage_one() == resolve("utkface", "vanilla", 0)
