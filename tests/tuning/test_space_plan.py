from typing import Any

import pytest

from fairflac.errors import UserError
from fairflac.tuning.space import HELD_OUT, SearchPlan, make_plan, make_space


def plan(
    method: str = "flac-b", *searches: str, rule: str = "guessed-groups", seed: int = 0, **changes: Any
) -> SearchPlan:
    return make_plan(
        "biased-digits", method, seed, changes, make_space(dict(text.split("=") for text in searches)), rule
    )


def test_validation_data_are_held_out_where_the_recipe_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan().base.data_options["validation"] == HELD_OUT
    assert "20% of its training images" in capsys.readouterr().err
    assert plan(validation=0.3).base.data_options["validation"] == 0.3
    assert capsys.readouterr().err == ""


def test_the_first_trial_is_the_recipe() -> None:
    assert plan().start == {"alpha": 100.0}
    assert plan("flac-b", "alpha=1:10", "lr=1e-4:1e-2").start is None  # it lies outside
    assert plan("flac-b", "bias_model.epochs=1:3").start is None
    assert plan("flac-b", "lr=1e-4:1e-2", "net=simple-conv,resnet18").start == {"lr": 3e-3, "net": "simple-conv"}


@pytest.mark.parametrize("search", ["alpha=1:1e4", "lr=1e-4:1e-2", "epochs=1:20", "channels=[2,2,2,2],[4,4,4,4]"])
def test_all_trials_share_one_bias_model(search: str) -> None:
    found = plan("flac-b", search)
    ((key, dimension),) = found.space.items()
    configs = [found.config({key: value}) for value in dimension.examples]
    assert len({config.run_id for config in configs}) == len(configs)
    assert {config.stage_one() for config in configs if config.stage_one() != found.base.stage_one()} == set()


def test_a_bias_model_can_be_searched_too() -> None:
    found = plan("flac-b", "bias_model.epochs=1:9", "epochs=1:9")
    stage_one = found.config({"bias_model.epochs": 4, "epochs": 2}).stage_one()
    assert stage_one is not None and stage_one.train.epochs == 4


def test_the_guesser_knows_no_attribute_and_depends_on_no_trial() -> None:
    guesser = plan("flac", "lr=1e-4:1e-2", **{"bias_model.epochs": 1, "task": "supcon", "epochs": 4}).guesser
    assert (guesser.method, guesser.target, guesser.train.epochs) == ("gce", "class", 4)
    assert guesser.data_options["validation"] == HELD_OUT  # it must not have seen these images


def test_what_makes_a_search_another_one() -> None:
    assert plan().id == plan().id == plan("flac-b", "alpha=10.0:1000.0").id
    others = [
        plan("flac"),
        plan(seed=1),
        plan(epochs=3),
        plan(rule="worst-class"),
        plan("flac-b", "alpha=10:1000"),
        plan("flac-b", "alpha=10.0:999.0"),
    ]
    assert len({found.id for found in [plan(), *others]}) == 7


@pytest.mark.parametrize(
    ("method", "searches", "changes", "part"),
    [
        ("flac", ["alhpa=1:2"], {}, "did you mean 'alpha'"),
        ("flac", ["alpha=-1:2"], {}, "alpha = -1"),
        ("flac", ["task=ce,supcorn"], {}, "task = 'supcorn'"),
        ("flac", ["alpha=1,many"], {}, "alpha = 'many'"),
        ("flac", ["epochs=1.0:5"], {}, "epochs = "),
        ("flac", ["q=0.5:0.9"], {}, "keeps its data"),
        ("flac", ["alpha=1:2"], {"alpha": 3}, "is set and searched"),
        ("flac", ["selection=last,oracle-unbiased"], {}, "uses attribute labels"),
        ("flac", [], {"selection": "oracle-unbiased"}, "uses attribute labels"),
        ("vanilla", [], {}, "no weight to search"),
        ("vanilla", ["bias_model.epochs=1:3"], {}, "has no bias model"),
    ],
)
def test_mistakes(method: str, searches: list[str], changes: dict[str, Any], part: str) -> None:
    with pytest.raises(UserError, match=part):
        plan(method, *searches, **changes)


def test_rules_by_name_and_an_oracle_only_when_asked_for() -> None:
    assert plan(rule="oracle-unbiased", selection="oracle-unbiased").rule == "oracle-unbiased"
    with pytest.raises(UserError, match="did you mean 'guessed-groups'"):
        plan(rule="guessed-group")
    with pytest.raises(UserError, match="unknown validation rule"):
        plan(rule="last")
