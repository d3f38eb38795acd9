# SPDX-License-Identifier: Apache-2.0
"""A service of its own to measure: starts it, sends requests, observes it from outside, ends it."""

import http.client
import json
import os
import re
import socket
import subprocess
import time

SETTINGS = ("http.connections=20000", "http.connections_per_peer=20000",
            "http.idle_timeout=3600s", "sessions.idle=3600s", "sessions.idle_max=3600s")
START_SECONDS = 60


class Refused(Exception):
    """A response that reports an error: which, and its message."""


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=600)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def parents():
    """pid -> (name, parent) of all processes."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as file:
                name, rest = re.match(r"\d+ \((.*)\) . (\d+)", file.read(), re.S).groups()
            found[int(pid)] = (name, int(rest))
        except OSError:
            pass
    return found


class Service:
    def __init__(self, scratch, brig, cells, sessions, env):
        self.brig = brig
        self.directory = os.path.join(scratch, "service")
        self.socket = os.path.join(self.directory, "brig.sock")
        self.place = "unix:" + self.socket
        self.port = str(free_port())
        self.env = env
        self.settings = SETTINGS + ("warm.cells=%d" % cells, "sessions.max=%d" % (sessions + 10),
                                    "sessions.per_tenant=%d" % (sessions + 10))
        self.process = None
        self.token = None

    def start(self):
        config = os.path.join(self.directory, "config")
        os.makedirs(config)
        made = json.loads(subprocess.run([self.brig, "token", "new", "--json", "bench"], check=True,
                                         capture_output=True, env=self.env).stdout)
        self.token = made.pop("token")
        with open(os.path.join(config, "tokens.json"), "w", encoding="utf-8") as out:
            json.dump({"tokens": [made.get("entry", made)]}, out)
        command = [self.brig, "serve", "--config", config, "--state", self.directory + "/state",
                   "--listen", self.place, "--listen", "127.0.0.1:" + self.port]
        for setting in self.settings + ("tokens=tokens.json",):
            command += ["--set", setting]
        with open(os.path.join(self.directory, "log"), "wb") as log:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen(command, stderr=log, env=self.env)
        for _ in range(START_SECONDS * 10):
            try:
                self.ask("GET", "/v1/health")
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        with open(os.path.join(self.directory, "log"), encoding="utf-8") as log:
            raise SystemExit("the service does not start:\n" + log.read())

    def ask(self, method, target, body=None):
        connection = UnixConnection(self.socket)
        try:
            connection.request(method, target, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise Refused("%s %s: %d %s" % (method, target, answer.status,
                                            text.decode(errors="replace")[:300]))
        return json.loads(text) if text else None

    def members(self):
        """pid -> name: the service, its roles, and all processes below them."""
        every = parents()
        found = {self.process.pid: "brig"}
        grown = True
        while grown:
            grown = {pid: name for pid, (name, parent) in every.items()
                     if parent in found and pid not in found}
            found.update(grown)
        return found

    def roles(self):
        return {name.removeprefix("brig-"): pid for pid, (name, parent) in parents().items()
                if parent == self.process.pid}

    def cpu_ns(self):
        """The processor time that each role has used, without its cells."""
        used = {}
        for name, pid in self.roles().items():
            with open("/proc/%d/schedstat" % pid, encoding="utf-8") as file:
                used[name] = int(file.read().split()[0])
        return used

    def memory(self):
        """Proportional sizes of all processes, in bytes, by role; all cells together are one sum.
        """
        roles = {pid: name for name, pid in self.roles().items()}
        roles[self.process.pid] = "supervisor"
        sums, count = {}, 0
        for pid in self.members():
            try:
                with open("/proc/%d/smaps_rollup" % pid, encoding="utf-8") as file:
                    size = int(re.search(r"(?m)^Pss:\s+(\d+)", file.read()).group(1)) * 1024
            except (OSError, AttributeError):
                continue
            name = roles.get(pid, "cells")
            sums[name] = sums.get(name, 0) + size
            count += 1
        return {"processes": count, "bytes": sums, "all_bytes": sum(sums.values())}

    def end(self):
        if self.process:
            self.process.terminate()
            self.process.wait()


def available():
    with open("/proc/meminfo", encoding="utf-8") as file:
        return int(re.search(r"MemAvailable:\s+(\d+)", file.read()).group(1)) * 1024
