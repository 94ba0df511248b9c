"""ImageNet weights as a thing of the product: got, verified, kept, and started from."""

import hashlib
import http.server
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from data.portraits import draw_all
from fairflac.config.run_config import resolve
from fairflac.data import imagenet_weights
from fairflac.errors import UserError
from fairflac.nets.resnet import ResNet18
from fairflac.nets.weights import imagenet_file
from fairflac.runs.directory import Workspace
from fairflac.training.build import build_method
from fairflac.training.pipeline import train_config
from fairflac.types import TaskSpec

SHARED = Path(__file__).parents[3] / "shared" / "data" / "weights" / "resnet18-imagenet.safetensors"
TASK = TaskSpec(classes=("a", "b"), attributes={}, image_size=(64, 64), mean=(0.5,) * 3, std=(0.5,) * 3)


@pytest.fixture(scope="module")
def state() -> dict[str, torch.Tensor]:
    torch.manual_seed(7)
    return dict(ResNet18(1000).state_dict())


@pytest.fixture(scope="module")
def weights(state: dict[str, torch.Tensor], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "mine.pth"
    torch.save(state, path)
    return path


def get(root: Path, source: Path | None) -> list[str]:
    said: list[str] = []
    imagenet_weights.get(root, source, said.append)
    return said


def test_a_file_is_kept_with_the_data_and_runs_start_from_it(
    weights: Path, state: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    said = get(tmp_path, weights)
    assert "another file than torchvision's" in said[0] and "licence" in said[1]
    config = resolve("utkface", "vanilla", data=tmp_path)
    assert config.net_options["weights"] == "imagenet"
    net = build_method(config, TASK, tmp_path).net
    assert torch.equal(net.state_dict()["layer4.1.conv2.weight"], state["layer4.1.conv2.weight"])
    assert net.state_dict()["fc.weight"].shape == (2, 512)


def test_without_the_file_a_recipe_starts_from_scratch(weights: Path, tmp_path: Path) -> None:
    scratch = resolve("utkface", "flac", data=tmp_path)
    assert scratch.bias_model is not None and scratch.lacks_weights and scratch.bias_model.lacks_weights
    assert "weights" not in scratch.net_options and "weights" not in scratch.bias_model.net_options
    get(tmp_path, weights)
    full = resolve("utkface", "flac", data=tmp_path)
    assert full.bias_model is not None and full.bias_model.net_options["weights"] == "imagenet"
    assert full.run_id != scratch.run_id and not full.lacks_weights


def test_a_run_says_what_it_began_with(
    weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairflac.system.progress._told", set())
    names = [f"{20 + i}_{i % 2}_{i // 2 % 2}_{20170101000000000 + i}.jpg.chip.jpg" for i in range(60)]
    draw_all(tmp_path / "utkface" / "images", names)
    workspace, small = Workspace(tmp_path / "runs", tmp_path), {"size": 16, "epochs": 1, "batch_size": 8}
    scratch = train_config(resolve("utkface", "vanilla", changes=small, data=tmp_path), workspace)
    said = [line for line in capsys.readouterr().err.splitlines() if "from scratch" in line]
    assert len(said) == 1 and "fairflac data get imagenet-weights" in said[0]
    assert scratch is not None and scratch.result["from_scratch"] and "weights" not in scratch.env
    get(tmp_path, weights)
    full = train_config(resolve("utkface", "vanilla", changes=small, data=tmp_path), workspace)
    assert full is not None and not full.result["from_scratch"] and "from scratch" not in capsys.readouterr().err
    assert full.env["weights"].startswith(f"imagenet, sha256 {hashlib.sha256(weights.read_bytes()).hexdigest()[:8]}")


def test_what_the_user_asks_for_must_be_there(tmp_path: Path) -> None:
    config = resolve("utkface", "vanilla", changes={"weights": "imagenet"}, data=tmp_path)
    with pytest.raises(UserError, match="data get imagenet-weights"):
        build_method(config, TASK, tmp_path)
    config = resolve("biased-digits", "vanilla", changes={"weights": "imagenet"}, data=tmp_path)
    with pytest.raises(UserError, match="no ImageNet weights of 'simple-conv'"):
        build_method(config, TASK, tmp_path)


class Touch:
    """Leaves a trace when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.path,)


def test_bad_files_are_one_line_and_leave_nothing(
    state: dict[str, torch.Tensor], weights: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "cut.pth").write_bytes(weights.read_bytes()[:1_000_000])
    (bad / "evil.pth").write_bytes(pickle.dumps({"conv1.weight": Touch(tmp_path / "trace")}))
    (bad / "resnet18-f37072fd.pth").write_bytes(weights.read_bytes())
    torch.save(ResNet18(2).state_dict(), bad / "other.pth")
    save_file({**state, "bn1.bias": torch.full((64,), float("nan"))}, bad / "nan.safetensors")
    complaints = {
        "cut.pth": "cannot read weights",
        "evil.pth": "cannot read weights",
        "resnet18-f37072fd.pth": "sha256 does not begin with f37072fd",
        "other.pth": "'fc.weight' differs",
        "nan.safetensors": "'bn1.bias' is not finite",
        "missing.pth": "no weight file",
    }
    for name, complaint in complaints.items():
        with pytest.raises(UserError, match=complaint) as raised:
            get(tmp_path / "data", bad / name)
        assert "\n" not in str(raised.value)
    assert not (tmp_path / "trace").exists() and not imagenet_file(tmp_path / "data").exists()


def test_a_kept_file_that_changed_is_told(weights: Path, tmp_path: Path) -> None:
    get(tmp_path, weights)
    assert "resnet18" in imagenet_weights.check(tmp_path)[0]
    content = bytearray(imagenet_file(tmp_path).read_bytes())
    content[-1000] ^= 1
    imagenet_file(tmp_path).write_bytes(content)
    with pytest.raises(UserError, match="is damaged"):
        imagenet_weights.check(tmp_path)


class Server(http.server.BaseHTTPRequestHandler):
    """Sends a file, from where it is asked to begin, and breaks off once if told so."""

    content, breaks_at, asked = b"", 0, []

    def do_GET(self) -> None:
        begin = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        type(self).asked.append(begin)
        self.send_response(206 if begin else 200)
        rest = self.content[begin:]
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: self.breaks_at or None])
        type(self).breaks_at = 0

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(weights: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Server]]:
    Server.content, Server.breaks_at, Server.asked = weights.read_bytes(), 0, []
    running = http.server.HTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    monkeypatch.setattr(imagenet_weights, "ADDRESS", f"http://127.0.0.1:{running.server_port}/weights.pth")
    monkeypatch.setattr(imagenet_weights, "SIZE", len(Server.content))
    yield Server
    running.shutdown()
    running.server_close()


def test_a_download_that_broke_off_goes_on(
    server: type[Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = hashlib.sha256(server.content).hexdigest()
    monkeypatch.setattr(imagenet_weights, "FILE", f"resnet18-{digest[:8]}.pth")
    server.breaks_at = 3_000_000
    with pytest.raises(UserError, match="run it again to go on"):
        get(tmp_path, None)
    assert "torchvision's resnet18" in get(tmp_path, None)[1]
    assert server.asked == [0, 3_000_000]
    assert [path.name for path in imagenet_file(tmp_path).parent.iterdir()] == ["resnet18.safetensors"]
    assert "already" in get(tmp_path, None)[0] and len(server.asked) == 2


def test_a_download_of_something_else_is_not_kept(server: type[Server], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="sha256 does not begin with f37072fd"):
        get(tmp_path, None)  # the right size under the published name, and not that file
    assert list(imagenet_file(tmp_path).parent.iterdir()) == []


@pytest.mark.skipif(not SHARED.exists(), reason="real weights are not at hand")
def test_real_weights_fit(tmp_path: Path) -> None:
    get(tmp_path, SHARED)
    kept, given = load_file(imagenet_file(tmp_path)), load_file(SHARED)
    assert torch.equal(kept["fc.weight"], given["fc.weight"])
    net = build_method(resolve("utkface", "vanilla", data=tmp_path), TASK, tmp_path).net.eval()
    assert torch.equal(net.conv1.weight, given["conv1.weight"].float())
    features = net(torch.randn(4, 3, 64, 64)).features
    assert features.isfinite().all() and features.std() > 0.1
