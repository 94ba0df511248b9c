"""By HTTP: what is answered, and all that is not."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from fairflac.errors import UserError
from fairflac.serving.server import Server
from program import Program, refused
from reporting.hand_made import table, write_run

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two finished runs, a bias model, one that stopped, and one with a hostile name; beside them a secret."""
    folder = tmp_path_factory.mktemp("serve")
    (folder / "secret.txt").write_text("a secret")
    write_run(folder / "runs", "vanilla", table(1.0, 0.2))
    write_run(folder / "runs", "flac", table(0.9, 0.7))
    write_run(folder / "runs", "gce", table(0.9, 0.7), target="hue")
    stopped = write_run(folder / "runs", EVIL, table(1.0, 0.2), history=[{"epoch": 1, EVIL: 1.0, "seconds": 1}])
    (stopped.path / "done").unlink()
    (stopped.path / "link.html").symlink_to(folder / "secret.txt")
    return folder / "runs"


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    started = Server(root, port=0)
    with started.running():
        yield started


Answer = tuple[int, dict[str, str], str]


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read().decode()
    connection.close()
    return found


def raw(server: Server, text: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as connection:
        connection.sendall(text)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def snapshot(root: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.lstat().st_size, path.lstat().st_mtime_ns) for path in root.rglob("*")}


def test_the_list_has_every_run_and_names_stay_text(server: Server) -> None:
    status, headers, page = ask(server, "/")
    assert status == 200 and page.count("<tr data-run") == 4 and page.count('type="checkbox"') == 2
    assert EVIL not in page and "&lt;img src=x" in page
    assert "20.0\N{NO-BREAK SPACE}%" in page and "bias model (hue)" in page
    assert ask(server, "/rows")[2].count("<tr data-run") == 4
    assert headers["Cache-Control"] == "no-store" and headers["X-Frame-Options"] == "DENY"
    assert "script-src 'self'" in headers["Content-Security-Policy"] and "unsafe" not in str(headers)
    assert not re.search(r"https?://", page)  # nothing from elsewhere


def test_pages_of_one_run_and_of_two(server: Server, root: Path) -> None:
    before = snapshot(root)
    places = re.findall(r'<tr data-run="([^"]+)"', ask(server, "/")[2])
    assert len(places) == 4
    for place in places:
        assert ask(server, f"/run/{place}")[0] == ask(server, f"/curves/{place}")[0] == 200
    assert EVIL not in ask(server, f"/curves/{next(place for place in places if 'onerror' in place)}")[2]
    one, two = (f"toy/{method}/0123456789-s0" for method in ("vanilla", "flac"))
    status, headers, page = ask(server, f"/report/{two}")
    assert status == 200 and "flac" in page and "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "Content-Security-Policy" in page  # the page's own rule, which names its script
    status, _, both = ask(server, f"/compare?run={quote(one, safe='')}&run={quote(two, safe='')}")
    assert status == 200 and "vanilla" in both and "flac" in both and both != page
    assert ask(server, f"/compare?run={one}&run={two}")[2] is not None and len(server.pages._reports) == 2  # kept
    assert snapshot(root) == before  # nothing was written, changed or touched


def test_head_is_get_without_the_page(server: Server) -> None:
    status, headers, page = ask(server, "/", "HEAD")
    assert status == 200 and page == "" and int(headers["Content-Length"]) > 1000


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
def test_nothing_can_be_changed(server: Server, method: str) -> None:
    status, headers, page = ask(server, "/", method)
    assert status == (501 if method == "PROPFIND" else 405) and "<tr" not in page
    assert method == "PROPFIND" or headers["Allow"] == "GET, HEAD"
    assert not any(name.startswith("Access-Control") for name in headers)


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/run/../secret.txt",
        "/run/..%2fsecret.txt",
        "/run/%2e%2e/secret.txt",
        "/run/..%5csecret.txt",
        "/report/toy/vanilla/0123456789-s0/../../../../secret.txt",
        "/run/toy/vanilla/0123456789-s0/config.toml",
        "/run/toy/vanilla/0123456789-s0/predictions.npz",
        "/run//etc/passwd",
        "/run/%00",
        "/run/%ff%fe",
        "/run/",
        "/run",
        "/etc/passwd",
        "/toy/vanilla/0123456789-s0/env.json",
        "/compare?run=../secret.txt&run=..%2Fsecret.txt",
        "/serve.css/../secret.txt",
        "/templates/list.html",
        "/" + "a" * 20_000,
    ],
)
def test_hostile_paths_find_nothing(server: Server, path: str) -> None:
    status, _, page = ask(server, path)
    assert status == 404 and "secret" not in page.replace("secret.txt", "") and "root:" not in page


def test_a_link_in_a_run_leads_nowhere(server: Server) -> None:
    place = next(p for p in re.findall(r'data-run="([^"]+)"', ask(server, "/")[2]) if "onerror" in p)
    assert ask(server, f"/run/{place}/link.html")[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{}", "127.0.0.1", "127.0.0.1:1", "", "0.0.0.0:{}"])
def test_another_name_for_this_machine_is_refused(server: Server, host: str) -> None:
    status, _, page = ask(server, "/", Host=host.format(server.server_port))
    assert status == 421 and "<tr" not in page
    assert ask(server, "/", Host=f"localhost:{server.server_port}")[0] == 200


def test_requests_that_are_none(server: Server) -> None:
    own = f"Host: 127.0.0.1:{server.server_port}\r\n".encode()
    assert b" 421 " in raw(server, b"GET / HTTP/1.0\r\n\r\n")
    assert b" 421 " in raw(server, b"GET / HTTP/1.1\r\n" + own + b"Host: evil.example\r\n\r\n")
    assert b" 400 " in raw(server, b"GET http://evil.example/ HTTP/1.1\r\n" + own + b"\r\n")
    assert b"Bad Request" in raw(server, b"nonsense and more of it\r\n\r\n")
    assert b" 414 " in raw(server, b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n" + own + b"\r\n")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec_Fetch_Site": "same-origin"}, 200),
        ({"Sec_Fetch_Site": "none"}, 200),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}, 403),
        ({"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors"}, 403),  # another port of this machine
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}, 200),  # a link to the list, and only to it
    ],
)
def test_other_sites_get_nothing(server: Server, headers: dict[str, str], status: int) -> None:
    assert ask(server, "/", **headers)[0] == status
    if status == 200 and "Sec_Fetch_Mode" in headers:
        assert ask(server, "/rows", **headers)[0] == 403


def test_what_cannot_be_compared_is_said(server: Server) -> None:
    one = "toy/vanilla/0123456789-s0"
    assert ask(server, "/compare")[0] == ask(server, f"/compare?run={one}&run={one}")[0] == 400
    status, _, page = ask(server, f"/compare?run={one}&run=toy/gce/0123456789-s0")
    assert status == 409 and "finished models of the classes" in page


def test_it_listens_on_this_machine_only_and_a_taken_port_is_said(server: Server, root: Path) -> None:
    assert server.server_address[0] == "127.0.0.1" and server.address.startswith("http://127.0.0.1:")
    with pytest.raises(UserError, match=rf"port {server.server_port} cannot be used"):
        Server(root, server.server_port)
    with Server(root, 0) as another:
        assert another.server_port != server.server_port


def test_the_command_prints_its_address_and_ends_with_ctrl_c(root: Path) -> None:
    words = [sys.executable, "-m", "fairflac", "serve", str(root), "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:(\d+)/", said)
        assert address is not None, said
        connection = http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=60)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stderr is not None and process.stderr.read() == ""


def test_a_folder_that_is_not_there(program: Program, tmp_path: Path) -> None:
    refused(program("serve", tmp_path / "nowhere"), "there is no folder", "nowhere")
    refused(program("serve", tmp_path, "--port", "99999"), "--port")
