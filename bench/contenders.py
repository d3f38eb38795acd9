# SPDX-License-Identifier: Apache-2.0
"""The contenders: bare processes, brig, bubblewrap and crun, each with its strongest profile."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field

import oci

PYTHON = "/usr/bin/python3"
CODE = "print(1)"
CONTROLLERS = "/sys/fs/cgroup/unified/cgroup.controllers"
MASK = 'mount --bind /dev/null "$0" && exec "$@"'
OPEN_FD = 10  # where the driver opens a contender's file

# Run inside every sandbox before the measurement starts: reports which protections are really on.
POSTURE = """
import json, os
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
status = {key: value.strip() for key, value in status.items()}
names = {}
for name in ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup", "time"):
    try:
        names[name] = os.readlink("/proc/self/ns/" + name)
    except OSError:
        names[name] = "hidden"
try:
    open("/x", "w").close()
    root = "writable"
except OSError:
    root = "read-only"
print(json.dumps({"ns": names, "caps": status["CapBnd"].strip("0") or "none", "root": root,
                  "nnp": status["NoNewPrivs"], "seccomp": status["Seccomp"], "uid": os.getuid()}))
"""


@dataclass
class Closure:
    """The host files that a program needs. They come from brig's own plan, and all contenders get
    the same."""
    binds: list = field(default_factory=list)
    links: list = field(default_factory=list)


@dataclass
class Contender:
    group: str   # the program that runs: noop, noop-libc, python; start: brig itself
    label: str
    args: list
    method: str = "spawn"
    user: bool = False
    mask: str = None
    open: str = None
    env: dict = field(default_factory=dict)
    key: str = ""  # the key by which the report finds it

    @property
    def name(self):
        return self.group + "/" + self.key


def hybrid_mask():
    """crun refuses to start where cgroup v2 has a controller beside v1's: hide the list."""
    try:
        with open(CONTROLLERS, encoding="ascii") as file:
            return CONTROLLERS if file.read().strip() else None
    except OSError:
        return None


def closure_of(brig, code):
    plan = json.loads(subprocess.run([brig, "explain", "--json", "--lang", "python", "-c", code],
                                     check=True, capture_output=True).stdout)
    closure = Closure()
    for step in plan["program"]["steps"]:
        what = step["what"]
        if step["step"] == "mount.bind":
            closure.binds.append(what)
        elif step["step"] == "link" and not what.startswith("/dev/"):
            closure.links.append(tuple(what.split(" -> ")))
    return closure


class Field:
    """Builds the contenders for one machine, in a scratch directory that all users can read."""

    def __init__(self, scratch, tools, user):
        self.scratch = scratch
        self.tools = tools  # name -> path: brig, noop, noop-libc, driver, inprocess, filter
        self.user = user
        self.root = os.geteuid() == 0
        self.list = []
        self.skipped = []
        self.bwrap = shutil.which("bwrap")
        self.crun = shutil.which("crun")
        self.warm = {}
        self.mask = hybrid_mask() if self.root else None
        self.cgroup = "/brig-bench.%d" % os.getpid()
        self.closures = {"python": closure_of(tools["brig"], CODE)}
        result = self.brig_result()
        self.limits = result["limits"]
        self.limited = any(layer.startswith("cgroup-") for layer in result["layers"])
        for tool, package in ((self.bwrap, "bubblewrap"), (self.crun, "crun")):
            if not tool:
                self.skipped.append("%s: not installed (scripts/setup.sh bench)" % package)
        if not self.limited:
            self.skipped.append("the price of limits: there is no control group to be had here")

    def brig_result(self, user=False, env=None):
        return json.loads(subprocess.run(
            self.as_user(user) + [self.tools["brig"], "run", "--json", "--", self.tools["noop"]],
            check=True, capture_output=True, env=self.environment(user, env or {})).stdout)

    def environment(self, user, extra):
        home = os.path.join(self.scratch, "home" if user else "roothome")
        return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": home, "BRIG_WARM": "off",
                **extra}

    def as_user(self, user):
        if not user:
            return []
        return ["setpriv", "--reuid", str(self.user), "--regid", str(self.user),
                "--clear-groups", "--"]

    def add(self, group, key, label, args, **more):
        self.list.append(Contender(group, label, args, key=key, **more))

    def closure(self, group):
        return self.closures.get(group, Closure())

    def bwrap_args(self, group, command):
        """--disable-userns is its second user namespace; it has no limits, Landlock or cgroup."""
        args = [self.bwrap, "--unshare-all", "--unshare-user", "--disable-userns",
                "--assert-userns-disabled", "--die-with-parent", "--new-session", "--clearenv",
                "--cap-drop", "ALL", "--uid", "1000", "--gid", "1000", "--hostname", "brig",
                "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "LANG", "C.UTF-8"]
        for path in self.closure(group).binds:
            args += ["--ro-bind", path, path]
        for link, target in self.closure(group).links:
            args += ["--symlink", target, link]
        if command[0] in self.tools.values():
            inside = "/" + os.path.basename(command[0])
            args += ["--ro-bind", command[0], inside]
            command = [inside] + command[1:]
        args += ["--proc", "/proc", "--dev", "/dev", "--size", str(64 << 20), "--tmpfs", "/tmp",
                 "--size", str(64 << 20), "--tmpfs", "/sandbox", "--remount-ro", "/",
                 "--chdir", "/sandbox", "--seccomp", str(OPEN_FD), "--"]
        return args + command

    def crun_args(self, group, command, limited, suffix=""):
        name = group + ("-limits" if limited else "") + suffix
        bundle = os.path.join(self.scratch, "bundle-" + name)
        programs = []
        if command[0] in self.tools.values():
            programs = [command[0]]
            command = ["/" + os.path.basename(command[0])] + command[1:]
        with open(self.tools["filter"], "rb") as file:
            bpf = file.read()
        path = self.cgroup + "/" + name if limited else None
        oci.make_bundle(bundle, self.closure(group), programs,
                        oci.config(command, self.closure(group), self.limits, bpf, path))
        manager = "cgroupfs" if limited else "disabled"
        return [self.crun, "--root", os.path.join(self.scratch, "crun"),
                "--cgroup-manager=" + manager, "run", "--bundle", bundle, "brig-bench-" + name]

    def add_others(self, group, command):
        bpf = self.tools["filter"]
        if self.bwrap:
            self.add(group, "bwrap", "bubblewrap", self.bwrap_args(group, command), open=bpf)
            if self.root:
                self.add(group, "bwrap-user", "bubblewrap, ordinary user",
                         self.bwrap_args(group, command), open=bpf, user=True)
        if self.crun:
            self.add(group, "crun", "crun, no cgroup", self.crun_args(group, command, False),
                     mask=self.mask)
            if self.root:
                self.add(group, "crun-limits", "crun, cgroup limits",
                         self.crun_args(group, command, True), mask=self.mask)

    def add_group(self, group, command, brig_args):
        brig = [self.tools["brig"], "run"] + brig_args
        self.add(group, "fork", "bare fork + exec", command, method="fork")
        self.add(group, "spawn", "bare posix_spawn", command)
        self.add(group, "brig", "brig run", brig)
        if self.limited:
            self.add(group, "brig-nolimits", "brig run, BRIG_NO_CGROUP=1", brig,
                     env={"BRIG_NO_CGROUP": "1"})
        if self.root:
            self.add(group, "brig-user", "brig run, ordinary user", brig, user=True)
        self.add_before(group, "brig run, before", ["run"] + brig_args)
        self.add_others(group, command)

    def add_before(self, group, label, args):
        """The same with another build of brig."""
        if "before" in self.tools:
            self.add(group, "before", label, [self.tools["before"]] + args)

    def add_start(self):
        """The cost of a command before it does anything, against a program that has only libc."""
        self.add("start", "fork", "bare fork + exec", [self.tools["noop-libc"]], method="fork")
        self.add("start", "spawn", "bare posix_spawn", [self.tools["noop-libc"]])
        self.add("start", "brig", "brig --version", [self.tools["brig"], "--version"])
        self.add_before("start", "brig --version, before", ["--version"])

    def build(self):
        self.add_start()
        for group in ("noop", "noop-libc"):
            program = self.tools[group]
            self.add_group(group, [program], ["--", program])
            self.add(group, "libbrig", "libbrig, in process", [self.tools["inprocess"], program],
                     method="worker")
        self.add_group("python", [PYTHON, "-c", CODE], ["-c", CODE])
        self.start_warm()
        self.add("python", "brig-warm", "brig run, warm service",
                 [self.tools["brig"], "run", "-c", CODE], env=self.warm)
        return self.list

    def start_warm(self):
        """The user's warm service, below a directory of our own."""
        runtime = os.path.join(self.scratch, "runtime")
        os.mkdir(runtime, 0o700)
        self.warm = {"XDG_RUNTIME_DIR": runtime, "BRIG_WARM": "on"}
        subprocess.run([self.tools["brig"], "warm", "start"], check=True,
                       env=self.environment(False, self.warm), stdin=subprocess.DEVNULL)

    def stop_warm(self):
        """Returns its own account of the runs."""
        words = [self.tools["brig"], "warm"]
        env = self.environment(False, self.warm)
        status = subprocess.run([*words, "status"], env=env, capture_output=True, text=True,
                                check=True).stdout
        subprocess.run([*words, "stop"], env=env, check=True)
        return status.splitlines()[0]

    def postures(self):
        """The protections that the sandboxes really switch on, seen from a Python inside each."""
        command = [PYTHON, "-c", POSTURE]
        brig = [self.tools["brig"], "run", "-c", POSTURE]
        probes = [("brig", brig, None, None)]
        if self.bwrap:
            probes.append(("bubblewrap", self.bwrap_args("python", command),
                           self.tools["filter"], None))
        if self.crun:
            probes.append(("crun", self.crun_args("python", command, self.root, "-posture"), None,
                           self.mask))
        seen = []
        for name, args, opened, mask in probes:
            try:
                seen.append((name, json.loads(self.capture(args, opened=opened, mask=mask))))
            except RuntimeError as problem:
                self.skipped.append("%s, posture: %s" % (name, problem))
        return seen

    def capture(self, args, opened=None, user=False, env=None, mask=None):
        """Runs a contender as the driver does, but captures its output; a failure is an error."""
        def arrange():
            if opened:
                os.dup2(os.open(opened, os.O_RDONLY), OPEN_FD)
        prefix = self.as_user(user)
        if mask:
            prefix = ["unshare", "-m", "--propagation", "private", "sh", "-c", MASK, mask]
        done = subprocess.run(prefix + args, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, close_fds=False, check=False,
                              env=self.environment(user, env or {}), preexec_fn=arrange)
        if done.returncode != 0:
            raise RuntimeError("%s ended with %d: %s" % (" ".join(args[:2]), done.returncode,
                                                         " ".join(done.stderr.split()) or "silent"))
        return done.stdout

    def rehearse(self):
        """Runs every contender once and checks its output; a contender that fails is left out, by
        name."""
        kept = []
        for contender in self.list:
            if contender.method == "worker":
                kept.append(contender)
                continue
            try:
                out = self.capture(contender.args, contender.open, contender.user,
                                   contender.env, contender.mask)
                if contender.group == "python" and out != "1\n":
                    raise RuntimeError("printed %r" % out)
                kept.append(contender)
            except RuntimeError as problem:
                self.skipped.append("%s, %s: %s" % (contender.label, contender.group, problem))
        self.list = kept

    def describe(self):
        """The contenders as the driver reads them."""
        lines = []
        for contender in self.list:
            lines += ["name\t" + contender.name, "method\t" + contender.method]
            lines += ["as\tuser"] if contender.user else []
            lines += ["mask\t" + contender.mask] if contender.mask else []
            lines += ["open\t" + contender.open] if contender.open else []
            environment = self.environment(contender.user, contender.env)
            lines += ["env\t%s=%s" % pair for pair in environment.items()]
            lines += ["arg\t" + arg for arg in contender.args] + [""]
        return "\n".join(lines) + "\n"

    def clean(self):
        """crun removes the container's groups and leaves the one above them."""
        for controller in os.listdir("/sys/fs/cgroup") if os.path.isdir("/sys/fs/cgroup") else []:
            try:
                os.rmdir("/sys/fs/cgroup/" + controller + self.cgroup)
            except OSError:
                pass
