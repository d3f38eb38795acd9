# SPDX-License-Identifier: Apache-2.0
"""A service to be killed, its killer, and the checks that nothing is left of it."""

import importlib.util
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import tempfile
import time

from service_load import UNDER_WAY, Connection, Gone

TESTS = pathlib.Path(__file__).resolve().parent.parent
BRIG = os.path.abspath(os.environ.get("BRIG", "build/brig"))
NAMESPACES = ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup", "time")
# Deaths are not the fault of a queued request here: it is never held back.
OPTIONS = ("--set", "restart.limit=0", "--set", "restart.hold=0",
           "--set", "restart.delay_max=50ms", "--set", "runs.max=4")
# A run with this policy has a gate. It never connects: the name never exists.
NET_POLICY = '{"extends": "default", "network": {"allow": ["nowhere.invalid:80"]}}'
PATIENCE_S = 20
# The contents of a state directory that is not in use.
KEPT = {"lock", "ledger", "ledger/ledger.db", "ledger/audit.key", "ledger/audit.pub",
        "ledger/audit.head", "ledger/ledger.lock"}


def _load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


serve = _load("serve_conftest", TESTS / "serve" / "conftest.py")
serve.BRIG = BRIG
own = _load("own", TESTS / "host" / "own.py")
# Frequencies of deaths: of one role (the broker exists for root only), of all of them, of the
# supervisor.
DEATHS = serve.ROLES * 3 + ("all", "supervisor")


def birth(pid):
    """The start time: with the pid, it identifies a process. None: the process is gone."""
    try:
        words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if words[0] in "ZX" else words[19]


def family(pid):
    """The process and everything below it: {(pid, birth)}."""
    found, waiting = set(), [pid]
    while waiting:
        one = waiting.pop()
        born = birth(one)
        if born:
            found.add((one, born))
        try:
            tasks = os.listdir(f"/proc/{one}/task")
        except OSError:
            continue
        for task in tasks:
            try:
                text = pathlib.Path(f"/proc/{one}/task/{task}/children").read_text()
            except OSError:
                continue
            waiting += [int(word) for word in text.split()]
    return found


def namespaces_of(pids):
    found = set()
    for pid in pids:
        for name in NAMESPACES:
            try:
                found.add(os.readlink(f"/proc/{pid}/ns/{name}"))
            except OSError:
                pass
    return found


def orphans():
    """Processes that pid 1 has adopted; not this one, if it was adopted."""
    found = []
    for name in set(filter(str.isdigit, os.listdir("/proc"))) - {str(os.getpid())}:
        try:
            words = pathlib.Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if words[1] == "1" and words[0] not in "ZX":
            found.append(int(name))
    return found


def memory_of(pid):
    """(descriptors, kilobytes of its own)."""
    fields = dict(line.split(":", 1) for line in
                  pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return len(os.listdir(f"/proc/{pid}/fd")), int(fields["RssAnon"].split()[0])


class Victim:
    """The service, its deaths and its remains."""

    def __init__(self, seed=None):
        self.seed = random.randrange(10**9) if seed is None else seed
        self.chance = random.Random(self.seed)
        self.temporary = tempfile.TemporaryDirectory(prefix="brig-crash-", dir="/tmp")
        os.chmod(self.temporary.name, 0o711)  # the warden is another user
        place = pathlib.Path(self.temporary.name)
        (place / "tmp").mkdir()
        self.mounts = own.own_mounts(place)
        self.own = namespaces_of([os.getpid()])
        self.server = serve.Server(
            *OPTIONS, "--set", f"cache_dir={place / 'cache'}", directory=place,
            env={**os.environ, "TMPDIR": str(place / "tmp")})
        (self.server.config / "policies").mkdir(mode=0o755)
        (self.server.config / "policies" / "net.json").write_text(NET_POLICY)
        self.socket = self.server.socket
        self.members = set()     # of every process that was seen
        self.namespaces = set()
        self.masters = {}        # supervisor -> [(descriptors, kilobytes)] after each recovery
        self.roles = {}          # role -> the same
        self.deaths = []
        self.back_s = []         # from a death to the first answer
        self.first_s = []        # of the first run after it

    def start(self):
        self.server.start(ready=False)
        self.answers()
        return self

    def has_gates(self):
        """Whether this host allows a run to have a network."""
        connection = Connection(self.socket)
        try:
            status, _, body = connection.ask("POST", "/v1/execute",
                                             {"code": "print(1)", "policy": "net"})
        finally:
            connection.close()
        return status == 200 and json.loads(body)["status"] == "ok"

    # --- dying ------------------------------------------------------------------------------------

    def look(self):
        """The present processes; none of them may outlive the service."""
        now = family(self.server.pid)
        self.members |= now
        self.namespaces |= namespaces_of(pid for pid, _ in now) - self.own
        return now

    def kill(self, death):
        """Processes that must be gone after it; none, if the one to be killed does not
        exist yet."""
        before = self.look()
        roles = self.server.roles()
        if death == "supervisor":
            self.server.process.kill()
            self.server.process.wait()
            self.server.start(ready=False)
        elif death == "all" and roles or death in roles:
            for name, pid in roles.items():
                if death in (name, "all"):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
        else:
            return set()
        self.deaths.append(death)
        return {one for one in before if one[0] != self.server.pid}

    def answers(self, seconds=PATIENCE_S):
        """Waits until it answers; returns how long it took."""
        began = time.monotonic()
        while True:
            connection = Connection(self.socket, seconds)
            try:
                if connection.ask("GET", "/v1/health")[0] == 200:
                    return time.monotonic() - began
            except (Gone, OSError):
                pass
            finally:
                connection.close()
            assert self.server.process.poll() is None, self.server.log()[-3000:]
            assert time.monotonic() - began < seconds, "it does not answer\n" + \
                self.server.log()[-3000:]

    def round(self):
        """One death at a random moment, often another during the restart; then all is well."""
        time.sleep(self.chance.expovariate(3))
        began = time.monotonic()
        before = self.kill(self.chance.choice(DEATHS))
        if self.chance.random() < 0.3:
            time.sleep(self.chance.uniform(0, 0.15))
            began = time.monotonic()
            before |= self.kill(self.chance.choice(DEATHS))
        left = self.outlived(before)
        assert not left, f"{self.deaths[-2:]}: processes of the set before are left: {left}"
        self.answers()
        self.back_s.append(time.monotonic() - began)
        self.measure()

    def outlived(self, members, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while True:
            left = [pid for pid, born in members if birth(pid) == born]
            if not left or time.monotonic() > end:
                return left
            time.sleep(0.01)

    def measure(self):
        for name, pid in self.server.roles().items():
            try:
                seen = memory_of(pid)
            except OSError:  # as an ordinary user: not even its owner may read it
                continue
            self.roles.setdefault(name, []).append(seen)
        connection = Connection(self.socket)
        began = time.monotonic()
        try:
            if connection.ask("POST", "/v1/execute", {"code": "print(1)"})[0] == 200:
                self.first_s.append(time.monotonic() - began)
        except Gone:
            pass
        finally:
            connection.close()
        # Last: until all roles have started, the supervisor holds their connections.
        self.masters.setdefault(self.server.pid, []).append(memory_of(self.server.pid))

    # --- what is left -----------------------------------------------------------------------------

    def verify(self):
        """Verifies the chain, whether it is being written or not."""
        done = subprocess.run([BRIG, "audit", "verify", "--json", "--state", self.server.state],
                              capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0 and json.loads(done.stdout)["valid"], done

    def settle(self, book, seconds=60):
        """Every acknowledged execution ends, and keeps its result."""
        connection = Connection(self.socket)
        waiting = [name for name in book.accepted | book.results if name not in book.ended]
        end = time.monotonic() + seconds
        while waiting:
            assert time.monotonic() < end, f"stuck: {waiting[:20]} of {len(waiting)}"
            for name in list(waiting):
                status, _, body = connection.ask("GET", f"/v1/executions/{name}")
                assert status == 200, (name, status, body)
                if book.look_at(json.loads(body)):
                    waiting.remove(name)
            time.sleep(0.02)
        for name in list(book.ended):
            status, _, body = connection.ask("GET", f"/v1/executions/{name}")
            if status == 200:
                book.look_at(json.loads(body))
            else:
                book.complain(name, "had ended and is answered with", status, body)
        connection.close()

    def check_ledger(self, book):
        """After the end, from the database: each once, none running."""
        file = self.server.state / "ledger" / "ledger.db"
        db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        rows = {name: (state, status) for name, state, status in
                db.execute("SELECT id, state, status FROM executions")}
        promised = book.accepted.keys() | book.results.keys() | set(book.keys.values())
        assert promised <= rows.keys(), promised - rows.keys()
        run = {name for name, code in db.execute("SELECT id, code_sha256 FROM executions")
               if code in book.refused}
        assert not run, f"they were refused, and run: {run}"
        stuck = {name: row for name, row in rows.items() if row[0] != 2 or row[1] in UNDER_WAY}
        assert not stuck, stuck
        assert db.execute("SELECT count(*) FROM requests").fetchone() == (0,)
        kinds = db.execute("SELECT kind, json_extract(facts, '$.execution') FROM audit "
                           "WHERE kind LIKE 'execution.%'").fetchall()
        assert len(kinds) == len(set(kinds)), "an execution has begun or ended twice"
        for kind in ("execution.accepted", "execution.ended"):
            assert {name for said, name in kinds if said == kind} == rows.keys(), kind
        results = [name for name, in db.execute("SELECT id FROM results JOIN executions USING (n)")]
        assert sorted(results) == sorted(rows)
        statuses = {}
        for _, status in rows.values():
            statuses[status] = statuses.get(status, 0) + 1
        db.close()
        return statuses

    def check_growth(self):
        """Recovery costs the supervisor nothing, and roles start with the usual size."""
        for seen in self.masters.values():
            assert len({descriptors for descriptors, _ in seen[1:]}) <= 1, seen
            assert seen[-1][1] <= seen[0][1] + 512, seen
        for name, seen in self.roles.items():
            third = max(1, len(seen) // 3)
            first = max(kilobytes for _, kilobytes in seen[:third])
            last = min(kilobytes for _, kilobytes in seen[-third:])
            assert last <= first * 1.5 + 4096, (name, seen)

    def end(self):
        """A clean stop; after it only the files that are kept on purpose are left."""
        self.look()
        assert self.server.stop() == 0, self.server.log()[-3000:]
        assert not self.outlived(self.members), "processes are left"
        assert own.own_mounts(self.temporary.name) == self.mounts
        owners = {f"{pid}-{born}" for pid, born in self.members}
        groups = [path for path, _, _ in os.walk("/sys/fs/cgroup")
                  if "-".join(os.path.basename(path).split("-")[1:3]) in owners]
        assert not groups, f"control groups are left: {groups[:5]}"
        assert not self.inhabited(), "namespaces are left"
        pids = {str(pid) for pid, _ in self.members if not birth(pid)}
        sockets = [word for line in pathlib.Path("/proc/net/unix").read_text().splitlines()
                   for word in line.split()[7:]
                   if word.startswith("@brig-") and set(word[6:].split("-")) & pids]
        assert not sockets, f"sockets are left: {sockets}"
        self.check_files()

    def inhabited(self):
        """(process, namespace): orphans in namespaces of the service. Other processes may have got
        the same numbers by now; but they have parents, or end soon."""
        def look():
            return {(pid, name) for pid in orphans()
                    for name in namespaces_of([pid]) & self.namespaces}

        found = look()
        deadline = time.monotonic() + 20
        while found and time.monotonic() < deadline:
            time.sleep(0.1)
            found &= look()
        return found

    def check_files(self):
        place = pathlib.Path(self.temporary.name)
        here = {path.name for path in place.iterdir()} - {"log", "config", "state", "tmp", "cache"}
        assert not here, f"files are left: {here}"
        state = {str(path.relative_to(self.server.state)) for path in self.server.state.rglob("*")}
        assert state == KEPT, state ^ KEPT
        assert not list((place / "tmp").iterdir())

    def close(self):
        self.server.close()
        self.outlived(self.members)
        self.temporary.cleanup()


def summary(victim, book):
    """One line for people."""
    def spread(values):
        values = sorted(values) or [0]
        return "p50 %.2f max %.2f s" % (values[len(values) // 2], values[-1])
    return (f"seed {victim.seed}: {len(victim.deaths)} deaths; back {spread(victim.back_s)}; "
            f"first run {spread(victim.first_s)}; {book.counts}")
