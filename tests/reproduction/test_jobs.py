from fairflac.config.run_config import resolve
from fairflac.reproduction.plan import jobs_for


def test_a_bias_model_comes_before_its_runs_and_once():
    configs = [resolve("biased-digits", method, seed) for method in ("flac", "vanilla") for seed in (0, 1)]
    jobs = jobs_for(configs)
    keys = [job.key for job in jobs]
    assert len(set(keys)) == len(keys) == 5  # the colour model of both seeds is one
    for job in jobs:
        assert job.needs is None or keys.index(job.needs) < keys.index(job.key)
    assert [job.config for job in jobs if job.config.target == "class"] == configs


def test_a_vanilla_bias_model_is_the_vanilla_run_of_that_seed():
    jobs = jobs_for([resolve("biased-mnist", "flac-b", 1), resolve("biased-mnist", "vanilla", 1)])
    assert [job.config.method for job in jobs] == ["vanilla", "flac-b"]
    assert jobs[1].needs == jobs[0].key
