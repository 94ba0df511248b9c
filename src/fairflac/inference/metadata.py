"""What a model file says of itself: enough to use it without the run that it comes from."""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from fairflac import __version__
from fairflac.config.run_config import NetConfig, RunConfig
from fairflac.data import DATASETS
from fairflac.data.pixels.decode import Fit
from fairflac.errors import UserError
from fairflac.runs.directory import Run
from fairflac.training.build import load_config
from fairflac.types import TaskSpec

KEY = "fairflac"  # under which a file keeps its facts


class Facts(BaseModel):
    """From image files to names of classes, and how the network is built."""

    model_config = ConfigDict(frozen=True)

    classes: tuple[str, ...]
    image_size: tuple[int, int]  # that the network sees
    decoded_size: tuple[int, int]  # that files are decoded to, before their middle is cut out
    fit: Fit
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    net: str
    net_options: dict[str, Any]
    method: str
    method_options: dict[str, Any]
    biased_net: NetConfig | None
    attributes: dict[str, Any]  # a method may have outputs for each value
    dataset: str
    fairflac: str  # the version

    @classmethod
    def of(cls, run: Run, task: TaskSpec) -> "Facts":
        config = load_config(run)
        framing = DATASETS[config.dataset].framing
        return cls(
            **task.to_dict(),
            decoded_size=framing.stored(task.image_size),
            fit=framing.fit,
            net=config.net,
            net_options=_without_weights(config.net_options),
            method=config.method,
            method_options=config.method_options,
            biased_net=config.biased_net
            and NetConfig(net=config.biased_net.net, net_options=_without_weights(config.biased_net.net_options)),
            dataset=config.dataset,
            fairflac=__version__,
        )

    @classmethod
    def read(cls, text: str | bytes, source: object) -> "Facts":
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise UserError(f"what '{source}' says of itself is not of this version: export it again") from error

    @property
    def task(self) -> TaskSpec:
        return TaskSpec.from_dict(self.model_dump())

    @property
    def config(self) -> RunConfig:
        """As much of it as building the method takes."""
        shared = ("dataset", "method", "net", "net_options", "method_options", "biased_net")
        return RunConfig(**{name: getattr(self, name) for name in shared})


def _without_weights(options: dict[str, Any]) -> dict[str, Any]:
    """The file has all weights; where the first ones came from is a path on another machine, or a download."""
    return {key: value for key, value in options.items() if key not in ("weights", "pretrained")}
