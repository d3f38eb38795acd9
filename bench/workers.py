# SPDX-License-Identifier: Apache-2.0
"""Long-running processes that measure (warm_driver.c, spawn_load.c), and their commands."""

import json
import os
import re
import subprocess
from dataclasses import dataclass, field

import contenders
import report

PYTHON = contenders.PYTHON
MODULES = ["numpy", "pandas"]
LEVELS = (1, 2, 8)
CELLS = 16


class Failure(Exception):
    """A worker reported a failure, or ended."""


@dataclass
class Worker:
    """One resident process; several contenders may use it."""
    args: list
    env: dict
    process: subprocess.Popen = None

    def start(self):
        # A session of its own: kernels that share the processors out by session (autogroup) would
        # otherwise give a part of one share to each worker, and whole shares to the processes that
        # it is compared with.
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(self.args, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=self.env, start_new_session=True)

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
        answer = self.worker.ask("load %s %d %d %d" % (self.start, level, count, self.ready))
        walls = answer["wall_ns"]
        if self.start != "cold":
            self.colds += count - answer["warm"]
        figures = {"p%d_ms" % percent: report.milliseconds(report.percentile(walls, percent))
                   for percent in (10, 50, 90, 99)}
        figures["runs_per_second"] = count / (answer["elapsed_ns"] / 1e9)
        figures["runs"] = count
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
