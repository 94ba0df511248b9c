from pathlib import Path

import pytest

from fairflac.config.run_config import resolve
from fairflac.data import DATASETS
from fairflac.reproduction.estimate import hours, image_passes, seconds, training_images
from fairflac.reproduction.plan import jobs_for, plan
from fairflac.reproduction.published import published, published_names


def test_views_and_further_networks_count():
    vanilla, flac, contrastive = (
        image_passes(resolve("biased-digits", *method))
        for method in (("vanilla", 0), ("flac", 0, {"task": "ce"}), ("flac", 0, {"task": "supcon"}))
    )
    assert vanilla == 10 * 4000
    assert flac == vanilla and contrastive == 2 * vanilla
    committee = resolve("biased-digits", "gce-committee")
    assert image_passes(committee) == pytest.approx(5 * committee.train.epochs * 4000)


def test_a_measured_step_makes_hours():
    config = resolve("biased-digits", "vanilla")
    assert hours([config, config]) == pytest.approx(2 * seconds(config) / 3600)
    longer = resolve("biased-digits", "vanilla", 0, {"epochs": 20})
    assert seconds(longer) == pytest.approx(2 * seconds(config))  # one measurement serves both


def test_the_size_of_every_dataset_in_a_table_is_known():
    for name in published_names()[1:]:
        for config in plan(published(name), "paper", seeds=1).configs():
            assert image_passes(config) > 0
            assert DATASETS[config.dataset].usual_size or config.data_options["size"]


def test_the_page_on_cost_counts_what_the_plans_have():
    plans = [plan(published(name), "paper") for name in published_names()[1:]]
    runs = {job.key: job.config for grid in plans for job in jobs_for(grid.configs())}.values()
    millions = sum(run.train.epochs * training_images(run) for run in runs) / 1e6
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
    assert f"| all | {len(runs)} | | | {millions:,.0f} |" in page
