"""What a run writes is read back as the same run, whatever the recipes say."""

from pathlib import Path
from typing import Any

import pytest

from fairflac.config.file import read_config
from fairflac.config.recipes import recipe_methods, recipe_names
from fairflac.config.run_config import RunConfig, resolve
from fairflac.errors import UserError
from fairflac.nets import weights


def read_back(config: RunConfig, folder: Path, **changes: Any) -> RunConfig:
    (folder / "run.toml").write_text(config.to_toml())
    file = read_config(folder / "run.toml")
    return resolve(file.dataset, file.method, file.seed, file.changed(changes), complete=True)


@pytest.mark.parametrize(
    ("dataset", "method", "changes"),
    [
        ("biased-digits", "flac", {"alpha": 3.5, "epochs": 2, "channels": [2, 2, 2, 2]}),
        ("biased-digits", "flac-b", {"bias_model.kind": "gce"}),
        ("biased-digits", "vanilla", {"target": "colour"}),
        ("biased-digits", "ssa", {"label_share": 0.25}),
        ("biased-mnist", "flac", {"bias_model.seed": 3}),
        ("celeba", "flac", {"clip_norm": 1.0}),
        ("utkface", "flac", {"other_bias_models": [{"target": "age"}, {"epochs": 2, "seed": 3}], "combine": "max"}),
        ("folder", "flac-b", {"path": '/photos/it\'s <mine> & "yours"\n'}),
    ],
)
def test_there_and_back(dataset: str, method: str, changes: dict[str, Any], tmp_path: Path) -> None:
    config = resolve(dataset, method, 4, changes)
    again = read_back(config, tmp_path)
    assert again == config and again.run_id == config.run_id


@pytest.mark.parametrize("dataset", recipe_names())
def test_every_recipe_there_and_back(dataset: str, tmp_path: Path) -> None:
    own = {"path": "photos"} if dataset in ("folder", "csv") else {}
    for method in recipe_methods(dataset):
        config = resolve(dataset, method, 1, own)
        assert read_back(config, tmp_path) == config, method


def test_recipes_and_imagenet_weights_that_come_later_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = resolve("utkface", "flac", 0, {}, tmp_path)
    assert config.lacks_weights
    place = weights.imagenet_file(tmp_path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.touch()
    assert resolve("utkface", "flac", 0, {}, tmp_path) != config
    file = tmp_path / "config.toml"
    file.write_text(config.to_toml())
    for given in (file, tmp_path):  # or the folder of the run
        read = read_config(given)
        assert resolve(read.dataset, read.method, read.seed, read.changed({}), tmp_path, complete=True) == config


def test_changes_on_top_reach_the_bias_model_where_it_follows_its_run(tmp_path: Path) -> None:
    config = resolve("biased-digits", "flac-b", 0, {"epochs": 9, "bias_model.lr": 0.5})
    again = read_back(config, tmp_path, epochs=3, lr=0.25, alpha=7.0, q=0.9)
    assert (again.train.epochs, again.train.lr, again.method_options["alpha"]) == (3, 0.25, 7.0)
    assert again.bias_model is not None
    assert (again.bias_model.train.epochs, again.bias_model.train.lr) == (3, 0.5)  # it had an lr of its own
    assert again.data_options["q"] == again.bias_model.data_options["q"] == 0.9
    own = read_back(config, tmp_path, **{"epochs": 3, "bias_model.epochs": 5})
    assert own.bias_model is not None and own.bias_model.train.epochs == 5


def test_another_network_leaves_the_options_of_the_old_one_behind(tmp_path: Path) -> None:
    config = resolve("biased-digits", "flac-b", 0, {"channels": [2, 2, 2, 2]})
    again = read_back(config, tmp_path, net="resnet18")
    assert again.net == "resnet18" and "channels" not in again.net_options
    assert again.bias_model is not None and again.bias_model.net == "resnet18"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("= 3", ["not TOML"]),
        ("", ["has no dataset", "all settings"]),
        ('dataset = "d"\nmethod = "m"\nnet = "n"', ["has no seed"]),
        ('dataset = 3\nmethod = "m"\nnet = "n"\nseed = 0', ["dataset = 3", "text"]),
        ('dataset = "d"\nmethod = "m"\nnet = "n"\nseed = -1', ["seed = -1"]),
        ('dataset = "d"\nmethod = "m"\nnet = "n"\nseed = 0\ntrain = 3', ["train = 3", "table"]),
        ('dataset = "d"\nmethod = "m"\nnet = "n"\nseed = 0\nepohcs = 3', ["unknown key 'epohcs'"]),
        ('dataset = "d"\nmethod = "m"\nnet = "n"\nseed = 0\n[bias_model]\nnet = "n"', ["bias_model has no dataset"]),
        ('dataset = "d"\nmethod = "m"\nnet = "n"\nseed = 0\n[biased_net]\nx = 1', ["biased_net has net"]),
    ],
)
def test_a_file_that_is_no_config_costs_one_line(text: str, parts: list[str], tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(text)
    with pytest.raises(UserError) as error:
        read_config(tmp_path / "run.toml")
    assert "run.toml" in str(error.value) and all(part in str(error.value) for part in parts), error.value


def test_what_is_no_file_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no config file"):
        read_config(tmp_path / "nowhere.toml")
    with pytest.raises(UserError, match=r"there is no config file.*config\.toml"):
        read_config(tmp_path)
    (tmp_path / "run.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="no text"):
        read_config(tmp_path / "run.toml")


def test_changes_on_top_reach_the_bias_models_of_further_attributes(tmp_path: Path) -> None:
    config = resolve("biased-digits", "flac", 0, {"frame_q": 0.9, "other_bias_models": [{"target": "frame"}]})
    again = read_back(config, tmp_path, batch_size=64)
    assert [one.train.batch_size for one in again.stages_one()] == [64, 64]
    assert [one.target for one in again.stages_one()] == ["colour", "frame"]
    new = read_back(resolve("biased-digits", "flac"), tmp_path, other_bias_models=[{"target": "frame", "epochs": 1}])
    assert [(one.target, one.train.epochs) for one in new.stages_one()] == [("colour", 3), ("frame", 1)]
