# SPDX-License-Identifier: Apache-2.0
"""A running service, and the description with which every one of its responses is compared."""

import http.client
import importlib.util
import json
import os
import re
import socket
import subprocess
from pathlib import Path

import jsonschema
import pytest

HERE = Path(__file__).resolve().parent
BRIG = os.environ.get("BRIG", "build/brig")


def _load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


serve = _load("serve_conftest", HERE.parent / "serve" / "conftest.py")
make_server = serve.make_server
OPENAPI = json.loads((HERE.parent.parent / "data" / "schema" / "openapi.json").read_text())


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def find_operation(method, target):
    """The operation of the description for this request; None: there is none."""
    path = target.split("?")[0]
    for pattern, item in OPENAPI["paths"].items():
        regex = re.sub(r"\{path\}", ".+", re.sub(r"\{id\}", "[^/]+", pattern))
        if re.fullmatch(regex, path) and method.lower() in item:
            return item[method.lower()]
    return None


def schema_errors(schema, value):
    whole = {"components": OPENAPI["components"], **schema}
    return [e.message[:300] for e in jsonschema.Draft202012Validator(whole).iter_errors(value)]


def check_named(name, value):
    wrong = schema_errors({"$ref": f"#/components/schemas/{name}"}, value)
    assert not wrong, (name, wrong, value)


def check_against_description(method, target, answer):
    """Status, content type and body are those of the description for this request."""
    operation = find_operation(method, target)
    kind = answer.header("Content-Type", "").split(";")[0]
    if operation is None or str(answer.status) not in operation["responses"]:
        said = OPENAPI["paths"]["/v1/health"]["get"]["responses"]["default"]
    else:
        said = operation["responses"][str(answer.status)]
    content = said.get("content")
    if content is None:
        assert answer.body == b"", (method, target, answer.body)
        return
    if kind == "application/problem+json":
        check_named("Problem", answer.json())
        assert answer.json()["status"] == answer.status
        return
    assert kind in content, (method, target, answer.status, kind, answer.body[:300])
    if kind == "application/json":
        wrong = schema_errors(content[kind]["schema"], answer.json())
        assert not wrong, (method, target, wrong, answer.body[:2000])
    elif kind == "application/x-ndjson":
        for line in answer.body.splitlines():
            check_named("BatchLine", json.loads(line))


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = response.getheaders()
        self.body = body

    def header(self, name, otherwise=None):
        return next((v for k, v in self.headers if k.lower() == name.lower()), otherwise)

    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json()["code"]

    def events(self):
        return list(parse_events(self.body.decode()))


def parse_events(text):
    """(id, name, data) of each event."""
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "event" in fields:
            yield fields.get("id"), fields["event"], json.loads(fields["data"])


class Client:
    """Sends requests, and compares each response with the description."""

    def __init__(self, connect, token=None):
        self.connect = connect
        self.token = token

    def open(self, method, target, body=None, headers=None):
        """The connection and its response, whose body has not been read."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        if self.token:
            headers.setdefault("Authorization", "Bearer " + self.token)
        connection = self.connect()
        connection.request(method, target, body, headers)
        return connection, connection.getresponse()

    def ask(self, method, target, body=None, headers=None):
        connection, response = self.open(method, target, body, headers)
        with connection.sock or response:
            answer = Answer(response, response.read())
        connection.close()
        check_against_description(method, target, answer)
        return answer

    def run(self, body=None, **fields):
        answer = self.ask("POST", "/v1/execute", body or fields)
        assert answer.status == 200, answer.body
        return answer.json()

    def begin(self, **fields):
        answer = self.ask("POST", "/v1/executions", fields)
        assert answer.status == 202, answer.body
        assert answer.header("Location") == answer.json()["location"]
        return answer.json()["id"]

    def wait(self, execution, seconds=30):
        def ended():
            found = self.ask("GET", f"/v1/executions/{execution}").json()
            return found if found["status"] not in ("queued", "running") else None

        return serve.wait_for(ended, seconds, f"end of {execution}")


class Service:
    """A running server with tokens, and clients for its addresses."""

    def __init__(self, make, *options, tokens=()):
        self.port = free_port()
        self.server = make("--listen", f"127.0.0.1:{self.port}", *options)
        self.tokens = {}
        if tokens:
            file = self.server.dir / "tokens.json"
            for name, *rest in tokens:
                self.tokens[name] = json.loads(
                    subprocess.run(
                        [BRIG, "token", "new", name, "--json", "--file", file, *rest],
                        capture_output=True, check=True,
                    ).stdout
                )["token"]
            self.server.options = (*self.server.options, "--tokens", file)
        self.server.start()

    def unix(self):
        return Client(lambda: serve.UnixConnection(self.server.socket, 60))

    def tcp(self, name=None, token=None):
        return Client(
            lambda: http.client.HTTPConnection("127.0.0.1", self.port, timeout=60),
            token or self.tokens.get(name),
        )


@pytest.fixture
def make_service(make_server):
    return lambda *options, **kept: Service(make_server, *options, **kept)


@pytest.fixture(scope="module")
def service():
    """One for all tests of a file, with tokens for two tenants."""
    made = []

    def make(*options, **kept):
        made.append(serve.Server(*options, **kept))
        return made[-1]

    yield Service(make, tokens=[("alice",), ("bob",)])
    for server in made:
        started, status, log = server.readies(), server.stop(), server.log()
        server.close()
        # After all requests: no role has died, and all end in good order.
        assert started == 1 and status == 0, log


@pytest.fixture
def unix(service):
    return service.unix()


@pytest.fixture
def alice(service):
    return service.tcp("alice")


@pytest.fixture
def bob(service):
    return service.tcp("bob")
