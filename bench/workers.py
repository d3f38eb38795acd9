# SPDX-License-Identifier: Apache-2.0
"""Long-running processes that measure (warm_driver.c, spawn_load.c), and their commands."""

import json
import os
import re
import subprocess
from dataclasses import dataclass, field

import contenders
import group_time
import report

PYTHON = contenders.PYTHON
MODULES = ["numpy", "pandas"]
LEVELS = (1, 2, 8)
CELLS = 16


# Ordinary programs beside print(1): the text.
ORDINARY = {
    "classes": """
class Node:
    def __init__(self, value, rest=None):
        self.value, self.rest = value, rest
    def __iter__(self):
        node = self
        while node:
            yield node.value
            node = node.rest
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
nodes = None
for i in range(200):
    nodes = Node(i, nodes)
print(sum(nodes), fib(12))
""",
    "json and re": """
import json, re
rows = [{"id": i, "name": "row %d" % i, "tags": ["a", "b"]} for i in range(50)]
text = json.dumps(rows)
print(len(json.loads(text)), len(re.findall(r'"name": "row \\d+"', text)))
""",
    "datetime": """
import collections, datetime, random
days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=random.randrange(366)) for _ in range(200)]
print(collections.Counter(day.strftime("%A") for day in days).most_common(1)[0][1] > 0)
""",
    "csv": """
import csv, io
out = io.StringIO()
csv.writer(out).writerows([i, i * i, "text %d" % i] for i in range(100))
print(sum(int(row[1]) for row in csv.reader(io.StringIO(out.getvalue()))))
""",
    "files": """
import os, tempfile
with tempfile.TemporaryDirectory() as place:
    for i in range(5):
        with open(os.path.join(place, "%d.txt" % i), "w") as file:
            file.write("x" * 4096)
    print(sum(os.path.getsize(os.path.join(place, name)) for name in os.listdir(place)))
""",
}


class Failure(Exception):
    """A worker reported a failure, or ended."""


@dataclass
class Worker:
    """One resident process; several contenders may use it."""
    args: list
    env: dict
    process: subprocess.Popen = None
    time: group_time.GroupTime = None

    def start(self):
        self.time = group_time.GroupTime("%x" % id(self))
        # A session of its own: kernels that share the processors out by session (autogroup) would
        # otherwise give a part of one share to each worker, and whole shares to the processes that
        # it is compared with.
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(self.args, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=self.env, start_new_session=True,
                                        preexec_fn=self.time.enter)

    def ask(self, question):
        if not self.process:
            self.start()
        try:
            self.process.stdin.write(question + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Failure("%s ended with %s" % (self.args[0], self.process.wait()))
        answer = json.loads(line)
        if "error" in answer:
            raise Failure(answer["error"]["message"])
        return answer

    def end(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process = None
            self.time.remove()


@dataclass
class Load:
    """A contender: its command, its number of runs per round, and its results."""
    key: str
    label: str
    worker: Worker
    start: str = "cold"
    weight: float = 1.0
    levels: tuple = LEVELS
    ready: int = 0
    # level -> one entry for each round
    rounds: dict = field(default_factory=dict)
    colds: int = 0

    def measure(self, level, runs):
        count = max(2 * level, int(runs * self.weight))
        before = self.worker.time.used_ms()
        answer = self.worker.ask("load %s %d %d %d" % (self.start, level, count, self.ready))
        walls = answer["wall_ns"]
        if self.start != "cold":
            self.colds += count - answer["warm"]
        figures = {"p%d_ms" % percent: report.milliseconds(report.percentile(walls, percent))
                   for percent in (10, 50, 90, 99)}
        figures["runs_per_second"] = count / (answer["elapsed_ns"] / 1e9)
        figures["runs"] = count
        figures["cpu_ms"] = None if before is None else (self.worker.time.used_ms() - before) / count
        self.rounds.setdefault(level, []).append(figures)


def have_modules():
    code = "import " + ", ".join(MODULES)
    return subprocess.run([PYTHON, "-c", code], capture_output=True, check=False).returncode == 0


def write_runtime(tree, config):
    """The host's Python, warmed with numpy and pandas, as an operator would configure it."""
    with open(os.path.join(tree, "data/runtimes/python.json"), encoding="utf-8") as file:
        text = re.sub(r"(?m)^\s*//.*$", "", file.read())
    runtime = json.loads(text)
    runtime["warm"] = {"template": True, "preload": MODULES}
    # A library that starts threads when it is imported cannot be cloned with them.
    runtime["run"]["env"]["OPENBLAS_NUM_THREADS"] = "1"
    os.makedirs(os.path.join(config, "runtimes"))
    with open(os.path.join(config, "runtimes/python.json"), "w", encoding="utf-8") as out:
        json.dump(runtime, out)


class Field:
    """All contenders of one machine."""

    def __init__(self, base, tree):
        self.base = base  # contenders.Field: closures, bubblewrap's and crun's profiles
        self.list = []
        self.skipped = list(base.skipped)
        self.env = base.environment(False, {})
        self.drivers = {}
        self.config = os.path.join(base.scratch, "config")
        self.modules = have_modules()
        write_runtime(tree, self.config)

    def spawner(self, args, mask=None):
        args = [self.base.tools["spawn_load"]] + args
        if mask:
            args = ["unshare", "-m", "--propagation", "private", "sh", "-c", contenders.MASK,
                    mask] + args
        return Worker(args, self.env)

    def driver(self, key, config, code):
        self.drivers[key] = Worker([self.base.tools["warm_driver"], config, str(CELLS), "python",
                                    code], self.env)
        return self.drivers[key]

    def add(self, *args, **more):
        self.list.append(Load(*args, **more))

    def crun(self):
        """One bundle for each concurrent run: each has a control group."""
        for slot in range(max(LEVELS)):
            args = self.base.crun_args("python", [PYTHON, "-c", contenders.CODE], self.base.root,
                                       "-%d" % slot)
        return [arg.replace("-%d" % slot, "-{slot}") if "python" in arg else arg for arg in args]

    def build(self):
        command = [PYTHON, "-c", contenders.CODE]
        self.add("bare", "python3 -I -c 'print(1)'",
                 self.spawner([PYTHON, "-I", "-c", contenders.CODE]))
        if self.base.bwrap:
            self.add("bwrap", "bubblewrap + python3",
                     self.spawner(["--open", str(contenders.OPEN_FD), self.base.tools["filter"]]
                                  + self.base.bwrap_args("python", command)))
        if self.base.crun:
            self.add("crun", "crun + python3", self.spawner(self.crun(), mask=self.base.mask))
        self.add("brig-run", "brig run", self.spawner(
            [self.base.tools["brig"], "run", "-c", contenders.CODE]))
        for key, code in ORDINARY.items():
            self.add("bare-" + key, "python3 -I, " + key, self.spawner([PYTHON, "-I", "-c", code]), levels=(1,))
            self.add("warm-" + key, "brig, warm, pool full, " + key, self.driver(key, "/etc/brig", code),
                     start="warm", levels=(1,), ready=CELLS)
        driver = self.driver("warm", "/etc/brig", contenders.CODE)
        self.add("cold", "brig, cold", driver)
        self.add("warm", "brig, warm", driver, start="warm", weight=4.0)
        self.add("warm-full", "brig, warm, pool full", driver, start="warm", levels=(1,),
                 ready=CELLS)
        if self.modules:
            self.build_modules()
        else:
            self.skipped.append("numpy and pandas: not installed (apt-get install python3-numpy "
                                "python3-pandas)")

    def build_modules(self):
        code = "import " + ", ".join(MODULES)
        self.add("bare-numpy", "python3 -c '%s'" % code, self.spawner([PYTHON, "-c", code]),
                 weight=0.1)
        driver = self.driver("warm-numpy", self.config, code)
        self.add("warm-numpy", "brig, warm, numpy + pandas", driver, start="warm", weight=2.0)
        self.add("warm-numpy-full", "brig, warm, numpy + pandas, pool full", driver, start="warm",
                 levels=(1,), ready=CELLS, weight=0.5)

    def add_floors(self, memory):
        for key, answer in memory.items():
            size = answer["templates"]["resident_bytes"]
            self.add("floor-" + key, "floor: fork, _exit, wait with %.0f MiB" % (size / 2**20),
                     self.spawner(["--floor", str(size)]), weight=4.0)

    def memory(self):
        """The memory of each driver's pool; a driver without a pool is left out, by name."""
        seen = {}
        for key, driver in self.drivers.items():
            if key in ORDINARY:
                continue
            try:
                seen[key] = driver.ask("memory")
            except Failure as problem:
                self.leave_out(driver, problem)
        return seen

    def leave_out(self, worker, problem):
        for load in [load for load in self.list if load.worker is worker]:
            self.skipped.append("%s: %s" % (load.label, problem))
            self.list.remove(load)

    def rehearse(self):
        """Runs every contender once, so that no first run is measured; a contender that fails is
        left out."""
        for load in list(self.list):
            try:
                for level in load.levels:
                    load.worker.ask("load %s %d %d %d" % (load.start, level, level, load.ready))
            except Failure as problem:
                self.leave_out(load.worker, problem)

    def end(self):
        for load in self.list:
            load.worker.end()
        for driver in self.drivers.values():
            driver.end()
        self.base.clean()
