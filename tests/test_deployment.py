"""Image, compose file, chart and units: the programs understand what they say, and what they start works together.

Helm itself renders the chart, and the schemas of three versions of Kubernetes judge it. Nothing here was run by Docker
or in a cluster of Kubernetes.
"""

import copy
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import yaml

import charts
from harness.here import done_here
from noetl.app.adapters import secrets_path_of
from services import nats, postgres, waited_for

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "deploy" / "helm" / "noetl"
COMPOSE = ROOT / "deploy" / "compose.yaml"
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
KEY = "A" * 43 + "="
MANY = """
secret: other
credentials: some
image: {repository: registry.example/noetl, tag: "1"}
imagePullSecrets: [{name: pull}]
server:
  replicas: 1
  args:
    - --retain=completed=30d
    - --archive=s3://archive/noetl
    - --pool-limit=etl=4
    - --public-url=https://noetl.example
    - --oidc-issuer=https://login.example/realms/main
    - --oidc-client=noetl
    - --oidc-secret-file=/oidc/secret
    - --oidc-roles=/oidc/roles.toml
    - --oidc-scope=groups
  env: [{name: AWS_REGION, value: eu-1}]
  volumes: [{name: more, emptyDir: {}}, {name: oidc, secret: {secretName: noetl-oidc}}]
  volumeMounts: [{name: more, mountPath: /more}, {name: oidc, mountPath: /oidc, readOnly: true}]
  tolerations: [{key: a, operator: Exists}]
workers:
  default: {replicas: 1}
  etl: {replicas: 3, slots: 4, args: ["--allow-requirements"], nodeSelector: {pool: etl}, env: [{name: A, value: b}]}
ingress: {enabled: true, host: noetl.example, tlsSecret: tls, className: nginx, annotations: {a: b}}
podAnnotations: {prometheus.io/scrape: "true"}
"""


@pytest.fixture(scope="module", autouse=True)
def helm() -> None:
    """Helm, and what it needs: where neither it nor npm is there, nothing of the chart can be looked at."""
    if shutil.which("helm") is None and shutil.which("npm") is None:
        pytest.skip("there is neither helm nor npm, which has it")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Values that say something about everything."""
    path = tmp_path_factory.mktemp("values") / "values.yaml"
    path.write_text(MANY)
    return path


class Started(NamedTuple):
    """A container or unit: the words behind `noetl`, and its environment as far as it is said."""

    words: tuple[str, ...]
    environment: Mapping[str, str]

    def told(self, **changes: str) -> "Started":
        """With other texts in place of some."""

        def changed(text: str) -> str:
            for old, new in changes.items():
                text = text.replace(old, new)
            return text

        values = {name: changed(value) for name, value in self.environment.items()}
        return Started(tuple(map(changed, self.words)), values)


def of_chart(*words: str) -> list[Started]:
    """Containers of the chart, with what the Secret would have."""
    secret = {"store": "STORE", "bus": "BUS", "worker-token": "TOKEN", "credential-key": KEY}
    found = []
    for document in charts.rendered(CHART, *words):
        if document["kind"] == "Deployment":
            (container,) = document["spec"]["template"]["spec"]["containers"]
            environment = {
                one["name"]: one["value"] if "value" in one else secret[one["valueFrom"]["secretKeyRef"]["key"]]
                for one in container["env"]
            }
            found.append(Started(tuple(container["args"]), environment))
    return found


def of_compose() -> list[Started]:
    """Containers of the compose file."""
    document = yaml.safe_load(COMPOSE.read_text())
    values_of = {"NOETL_WORKER_TOKEN": "TOKEN", "NOETL_CREDENTIAL_KEY": KEY}
    found = []
    for service in document["services"].values():
        if service["image"] == "noetl":
            values = {
                name: re.sub(r"\$\{(\w+):[?-][^}]*\}", lambda match: values_of[match[1]], value)
                for name, value in service["environment"].items()
            }
            found.append(Started((*service.get("entrypoint", ["noetl"])[1:], *service["command"]), values))
    return found


def of_units() -> list[Started]:
    """Command lines of the units."""
    found = []
    for unit in UNITS:
        for line in re.findall(r"^ExecStart(?:Pre)?=/opt/noetl/bin/noetl (.*)$", unit.read_text(), re.MULTILINE):
            found.append(Started(tuple(line.replace("%i", "etl").split()), {"NOETL_BUS": "nats://127.0.0.1"}))
    return found


def understood(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the program itself read a command line; fails where it does not understand it."""
    from noetl_cli.lazy_click import real_command

    with monkeypatch.context() as patch:
        for name, value in started.told(STORE="postgresql://h/d", BUS="nats://h").environment.items():
            patch.setenv(name, value)
        name, *words = started.words
        real_command(import_module(f"noetl.cli.{name}").COMMAND).make_context(name, words)


def test_helm_finds_nothing_to_say(many: Path) -> None:
    for words in ((), ("--values", str(many))):
        done = subprocess.run(
            [charts.helm(), "lint", "--strict", CHART, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("version", charts.KUBERNETES)
def test_what_the_chart_comes_to_is_what_kubernetes_knows(version: str, many: Path) -> None:
    for words in ((), ("--values", str(many))):
        documents = charts.rendered(CHART, *words)
        assert {document["kind"] for document in documents} >= {"Deployment", "Service", "ServiceAccount"}
        for document in documents:
            assert [*charts.faults(document, version)] == [], document["metadata"]
            for place in ("command", "livenessProb", "securityContex"):
                if document["kind"] == "Deployment" and place != "command":
                    wrong = copy.deepcopy(document)
                    wrong["spec"]["template"]["spec"]["containers"][0][place] = {}
                    assert [*charts.faults(wrong, version)], place


def test_the_chart_has_workers_by_pool_and_budgets_where_there_are_several(many: Path) -> None:
    documents = charts.rendered(CHART, "--values", str(many))
    replicas = {one["metadata"]["name"]: one["spec"]["replicas"] for one in documents if one["kind"] == "Deployment"}
    name = "a-release-noetl"
    assert replicas == {name: 1, f"{name}-worker-default": 1, f"{name}-worker-etl": 3}
    budgets = {one["metadata"]["name"] for one in documents if one["kind"] == "PodDisruptionBudget"}
    assert budgets == {f"{name}-worker-etl"}
    # A budget and a service that select other pods than those of their deployment would do nothing.
    labels = {
        one["metadata"]["name"]: one["spec"]["template"]["metadata"]["labels"]
        for one in documents
        if one["kind"] == "Deployment"
    }
    for one in documents:
        if one["kind"] in ("PodDisruptionBudget", "Service"):
            selector = one["spec"]["selector"]
            wanted = selector.get("matchLabels", selector)
            chosen = {each for each, has in labels.items() if wanted.items() <= has.items()}
            assert chosen == {one["metadata"]["name"]}
    (ingress,) = [one for one in documents if one["kind"] == "Ingress"]
    assert ingress["spec"]["tls"] == [{"hosts": ["noetl.example"], "secretName": "tls"}]


def test_servers_and_workers_have_the_credentials_that_are_named(many: Path, tmp_path: Path) -> None:
    pods = [one["spec"]["template"]["spec"] for one in charts.rendered(CHART) if one["kind"] == "Deployment"]
    assert [pod for pod in pods if "initContainers" in pod] == []
    rendered = charts.rendered(CHART, "--values", str(many))
    pods = [one["spec"]["template"]["spec"] for one in rendered if one["kind"] == "Deployment"]
    assert len(pods) == 3
    home = tmp_path / "home"
    (tmp_path / "credentials").write_text("encrypted")
    for pod in pods:
        assert [one["secret"]["secretName"] for one in pod["volumes"] if one["name"] == "credentials"] == ["some"]
        (first,) = pod["initContainers"]
        mounts = {one["name"]: one["mountPath"] for one in first["volumeMounts"]}
        assert mounts == {"state": "/var/lib/noetl", "credentials": "/credentials"}
        shell, dash, line = first["command"]
        line = line.replace("/var/lib/noetl", str(home)).replace("/credentials/", f"{tmp_path}/")
        for _ in range(2):  # a pod whose container is started again has its folder
            assert subprocess.run([shell, dash, line], check=False).returncode == 0
        found = home / ".noetl" / "noetl.db.credentials"
        assert (found.read_text(), found.stat().st_mode & 0o777) == ("encrypted", 0o600)
        assert secrets_path_of("postgresql://h/d") == ".noetl/noetl.db.credentials"


def test_a_value_that_there_is_not_is_refused() -> None:
    for word in ("server.replica=1", "workers.default.slot=1", "workers.Upper.slots=1", "server.replicas=0"):
        done = subprocess.run(
            [charts.helm(), "template", "x", CHART, "--set", word], capture_output=True, text=True, check=False
        )
        assert done.returncode != 0 and "values" in done.stderr, word


def test_every_command_is_one_that_the_program_understands(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [*of_chart(), *of_chart("--values", str(many)), *of_compose(), *of_units()]
    assert len(found) == 2 + 3 + 4 + 4
    for started in found:
        understood(started, monkeypatch)
    known = (ROOT / "runtime" / "README.md").read_text().partition("| variable |")[2].partition("\n\n")[0]
    named = {name for started in found for name in started.environment if name.startswith("NOETL_")}
    named |= {*re.findall(r"NOETL_\w+(?==)", "".join(unit.read_text() for unit in UNITS))}
    assert [name for name in named if f"`{name}`" not in known] == []


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in taken]


@pytest.fixture
def processes() -> Iterator[list["subprocess.Popen[str]"]]:
    """Processes, which are told to end, and do."""
    found: list[subprocess.Popen[str]] = []
    yield found
    for process in reversed(found):
        process.terminate()
        assert process.wait(40) == 0


def begun(folder: Path, started: Started) -> "subprocess.Popen[str]":
    """A process of the words and the environment, and of nothing else of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NOETL_")}
    with open(folder / "log", "a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "noetl.cli", *started.words], cwd=folder, env={**kept, **started.environment},
            stderr=log, text=True,
        )  # fmt: skip


@pytest.mark.parametrize("source", ["chart", "compose"])
def test_what_is_started_runs_a_playbook(source: str, tmp_path: Path, processes: list[Any]) -> None:
    """Server and workers with the words and variables of the files, on this machine, asked as probes ask them."""
    server, worker, *_ = of_chart() if source == "chart" else of_compose()
    (tmp_path / ".noetl").mkdir()
    tokens = tmp_path / ("tokens" if source == "chart" else ".noetl/server.tokens")
    token = {}
    for role in ("operator", "worker"):
        done = done_here(tmp_path, ["token", "add", role, "--role", role, "--tokens", str(tokens)])
        token[role] = done.stdout.strip()
    tokens.chmod(0o440)  # as a Secret is mounted
    port, metrics = free_ports(2)
    changes = {
        "postgresql://noetl@postgres/noetl": "STORE", "nats://nats:4222": "BUS", "STORE": postgres().store_url(),
        "BUS": nats().bus_url(), "TOKEN": token["worker"], "8082": str(port), "9102": str(metrics),
        "/etc/noetl/tokens": str(tokens), "http://a-release-noetl:": "http://localhost:",
        "http://server:": "http://localhost:",
    }  # fmt: skip
    processes.append(begun(tmp_path, server.told(**changes)))
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {token['operator']}"})

    def is_up(url: str, path: str) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{url}{path}").status_code == 200
        except httpx.TransportError:
            return False

    with client:
        waited_for(lambda: is_up(str(port), "/readyz"), (tmp_path / "log").read_text(), 40)
        assert is_up(str(port), "/healthz")
        processes.append(begun(tmp_path, worker.told(**changes)))
        waited_for(lambda: is_up(str(metrics), "/metrics"), (tmp_path / "log").read_text(), 40)
        text = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\n"
        text += "workflow: [{step: start, tool: {kind: python, code: 'result = 42'}}]\n"
        posted = client.post("/playbooks", content=text.encode(), headers={"Content-Type": "application/yaml"})
        assert posted.status_code in (200, 201), posted.text
        name = client.post("/executions", json={"path": "t/t"}).json()["execution_id"]
        row = f"/executions/{name}/row"
        waited_for(lambda: client.get(row).json()["status"] == "completed", (tmp_path / "log").read_text(), 40)
        assert client.get(f"/executions/{name}/result").json()["result"] == 42
    log = (tmp_path / "log").read_text()
    if source == "chart":
        assert all(value not in log for value in token.values())


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    """The instructions of a Dockerfile."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word, rest.strip()


def test_the_image_is_of_what_is_there_and_not_root() -> None:
    found = [*_instructions((ROOT / "deploy" / "Dockerfile").read_text())]
    users = [rest for word, rest in found if word == "USER"]
    documents = charts.rendered(CHART)
    (deployment, *_) = [one for one in documents if one["kind"] == "Deployment"]
    security = deployment["spec"]["template"]["spec"]["securityContext"]
    assert users == [f"{security['runAsUser']}:{security['runAsGroup']}"] == ["10001:10001"]
    kept = [
        line[1:]
        for line in (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    copied = [path for word, rest in found if word == "COPY" and "--from" not in rest for path in rest.split()[:-1]]
    for path in copied:
        assert (ROOT / path).exists() and any(f"{each}/".startswith(f"{path}/") for each in kept), path
    # All that the wheel is made of.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    target = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = [*target["packages"], *target["shared-data"], "pyproject.toml", project["project"]["readme"]]
    for path in needed:
        assert any(f"{path}/".startswith(f"{each}/") for each in kept), path
    (extras,) = [rest.partition("=")[2] for word, rest in found if word == "ARG" and rest.startswith("EXTRAS")]
    assert {*extras.split(",")} <= {*project["project"]["optional-dependencies"]}
    entry = json.loads(next(rest for word, rest in found if word == "ENTRYPOINT"))
    assert entry == ["noetl"] and "noetl" in project["project"]["scripts"]


@pytest.mark.long
def test_the_steps_of_the_image_install_both_programs(tmp_path: Path) -> None:
    """On this machine, in a folder that has what the image is built of and nothing else."""
    found = [*_instructions((ROOT / "deploy" / "Dockerfile").read_text())]
    source = tmp_path / "source"
    source.mkdir()
    for word, rest in found:
        if word == "COPY" and "--from" not in rest:
            *paths, target = rest.split()
            for path in paths:
                to = source / target / Path(path).name if target.endswith("/") else source / target
                if (ROOT / path).is_dir():
                    shutil.copytree(ROOT / path, to, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / path, to)
    (extras,) = [rest.partition("=")[2] for word, rest in found if word == "ARG" and rest.startswith("EXTRAS")]
    steps = next(rest for word, rest in found if word == "RUN")
    place = tmp_path / "opt"
    command = steps.replace("/opt/noetl", str(place)).replace("${EXTRAS}", extras)
    done = subprocess.run(["sh", "-ec", command], cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for words in (
        ("noetlc", "--version"),
        ("noetl", "server", "--check-config", "--port", "0"),
        ("noetl", "worker", "-h"),
    ):
        done = subprocess.run(
            [place / "bin" / words[0], *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert not (place / "bin" / "pip").exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_understands_the_units(unit: Path, tmp_path: Path) -> None:
    name = unit.name.replace("@.", "@etl.")
    (tmp_path / name).write_text(unit.read_text().replace("/opt/noetl/bin/noetl", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / name)], capture_output=True, text=True, check=False
    )
    lines: Sequence[str] = [line for line in done.stderr.splitlines() if name in line]
    assert lines == [] and done.returncode == 0, done.stderr


def test_the_chart_is_of_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (version, version)
