# SPDX-License-Identifier: Apache-2.0
"""Hosts that lack a feature: the run continues without exactly that layer, or is refused, as the
policy requires.

`without.c` removes the feature. With the default policy a run continues without the layers that the
policy may miss, and the result reports it; with a policy that may miss nothing the same run is
refused and the layer named. Layers that no policy may miss are never missed: the program does not
start.
"""

import json
import os
import pathlib
import subprocess
import time

import pytest

BRIG = os.path.abspath(os.environ.get("BRIG", "build/brig"))
HERE = pathlib.Path(__file__).parent
ROOT = os.geteuid() == 0
CGROUP_LAYERS = {"cgroup-memory", "cgroup-pids", "cgroup-cpu"}
# Layers that an ordinary user's host may lack in any case.
ALWAYS_MISSED = set() if ROOT else {"uidrange"} | CGROUP_LAYERS

# The removed feature -> the layer that is lost; none: another means is used.
LOST = {
    "landlock": "landlock",
    "landlock-late": "landlock",
    "notify": "notify",
    "timens": "timens",
    "overlay": "overlay",
    "keyring": "keyring",
    "no-keyrings": None,
    "clone3": None,
    "openat2": None,
}
# Cells with brig's agent in them: the layers that brig makes there, beside those of the tool.
AGENTS = {
    "crun": {"provider": "oci", "oci": {"runtime": "crun"}},
    "runc": {"provider": "oci", "oci": {"runtime": "runc"}},
    "bubblewrap": {"provider": "launcher", "launcher": {"name": "bubblewrap"}},
}
BY_THE_AGENT = ["landlock", "landlock-late", "notify", "timens", "overlay"]
# The removed feature -> words of which the error has one.
REFUSED = {
    "userns": ["user namespaces"],
    "inner-userns": ["nested user namespaces"],
    "pidns": ["step clone"],
    "mntns": ["step clone"],
    "ipcns": ["step clone"],
    "utsns": ["step clone"],
    "netns": ["step net"],
    "cgroupns": ["cgroupns", "step cgroup.hide"],
    "rootfs": ["step mount.pivot"],
    "mount-api": ["step mount.root", "device nodes"],
    "mount-flags": ["step mount"],
    "proc": ["/proc"],
    "seccomp": ["step seccomp"],
    "caps": ["step caps", "step init.seal"],
    "bounding": ["step caps", "step init.seal"],
    "securebits": ["step caps", "step init.seal"],
    "nnp": ["step no_new_privs", "step init.seal"],
    "close-range": ["step fd.close"],
}


# A template's pages cannot be pinned -> words of doctor's report. No layer is lost.
UNPINNED = {
    "io-uring": "io_uring is refused: see kernel.io_uring_disabled",
    "no-io-uring": "io_uring is missing in this kernel",
    "pinned-pages": "too little memory may be locked",
    "no-locked-memory": "too little memory may be locked",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("degrade")
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror",
                    "-o", place / "without", HERE / "without.c"], check=True)
    policies = place / "config" / "policies"
    policies.mkdir(parents=True)
    policy = policies / "whole.json"
    policy.write_text(json.dumps({"extends": "default", "may_miss": sorted(ALWAYS_MISSED)}))
    policy.chmod(0o600)
    policy = policies / "no-rseq.json"
    policy.write_text(json.dumps({"extends": "default", "syscalls": [
        "-rseq", "@basic", "@file", "@process", "@thread", "@socket", "@ipc", "@dangerous"]}))
    policy.chmod(0o600)
    for name, settings in AGENTS.items():
        for kind, may_miss in (("", {}), ("-whole", {"may_miss": sorted(ALWAYS_MISSED)})):
            policy = policies / f"{name}{kind}.json"
            policy.write_text(json.dumps({"extends": "default", **settings, **may_miss}))
            policy.chmod(0o600)
    return place


def answer(place, missing, *words, groups=ROOT):
    """brig's answer on a host without that feature, and its exit status."""
    env = dict(os.environ) if groups else {**os.environ, "BRIG_NO_CGROUP": "1"}
    shim = [place / "without", missing] if missing else []
    if missing == "no-locked-memory":
        shim = ["sh", "-c", 'ulimit -l 0 && exec "$@"', "sh"]
    command = [*shim, BRIG, *words]
    done = subprocess.run([str(w) for w in command], capture_output=True, text=True, env=env,
                          timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode != 99, done
    return json.loads(done.stdout), done.returncode


def python(place, missing, *options, **more):
    return answer(place, missing, "run", "--json", *options, "--lang", "python",
                  "-c", "open('out/x', 'w').write('file'); print('ran')", **more)


@pytest.fixture(scope="module")
def whole(place):
    """The layers of this host; it must have all features that the tests remove."""
    result, _ = python(place, "")
    assert result["status"] == "ok", result
    for layer in filter(None, LOST.values()):
        if layer not in result["layers"]:
            pytest.skip(f"this host has no {layer}")
    return set(result["layers"])


@pytest.mark.parametrize("missing", LOST)
def test_goes_on_without(place, whole, missing):
    result, status = python(place, missing)
    assert status == 0 and result["status"] == "ok", result
    assert result["stdout"] == "ran\n"
    assert [file["path"] for file in result["files"]] == ["out/x"]
    assert whole - set(result["layers"]) == {LOST[missing]} - {None}
    assert set(result["layers"]) <= whole


@pytest.mark.parametrize("missing", LOST)
def test_refused_by_a_policy_that_misses_nothing(place, whole, missing):
    result, status = python(place, missing, "--config", place / "config", "--policy", "whole")
    if LOST[missing] is None:
        assert status == 0 and set(result["layers"]) == whole
        return
    assert status == 125
    assert result["error"]["code"] == "host"
    assert f"layer {LOST[missing]} " in result["error"]["message"]
    assert "may_miss" in result["error"]["remedy"]


@pytest.mark.parametrize("missing", BY_THE_AGENT)
@pytest.mark.parametrize("tool", AGENTS)
def test_with_an_agent(place, whole, tool, missing):
    """The same in a container or a launcher's cell."""
    result, status = python(place, missing, "--config", place / "config", "--policy", tool)
    assert status == 0 and result["stdout"] == "ran\n", result
    assert whole - set(result["layers"]) == {LOST[missing]}
    result, status = python(place, missing, "--config", place / "config", "--policy",
                            f"{tool}-whole")
    assert status == 125 and f"layer {LOST[missing]} " in result["error"]["message"], result


@pytest.mark.parametrize("missing", REFUSED)
def test_fails_closed(place, missing):
    result, status = python(place, missing)
    assert status == 125, result
    assert "stdout" not in result
    assert result["error"]["code"] in ("host", "system")
    assert any(word in result["error"]["message"] for word in REFUSED[missing]), result


def test_without_anything_that_may_be_missed(place, whole):
    """All at once: only the mandatory walls remain."""
    result, status = python(place, ",".join(LOST), groups=False)
    assert status == 0 and result["stdout"] == "ran\n", result
    lost = set(LOST.values()) - {None} | CGROUP_LAYERS
    assert set(result["layers"]) == whole - lost
    assert {"userns", "pidns", "mntns", "netns", "rootfs", "caps", "nnp", "seccomp"} <= set(
        result["layers"])


def test_without_anything_compiled(place, whole):
    """The compiler's cell degrades like the program's."""
    code = "#include <stdio.h>\nint main(void) { puts(\"ran\"); return 0; }"
    result, status = answer(place, ",".join(LOST), "run", "--json", "--no-cache", "--lang", "c",
                            "-c", code, groups=False)
    assert status == 0 and result["stdout"] == "ran\n", result


def test_limits_without_groups(place, whole):
    """Each limit reports its means; none of them is a group."""
    result, status = python(place, "", groups=False)
    assert status == 0
    assert not CGROUP_LAYERS & set(result["layers"])
    means = result["means"]
    assert not [name for name, by in means.items() if "cgroup" in by], means
    for name in ("cpu_time", "memory", "processes"):
        assert means[name] and means[name] != "none", means
    code = "x = bytearray(600 << 20)\nprint('kept')"
    result, _ = answer(place, "", "run", "--json", "--lang", "python", "-c", code, groups=False)
    assert result["status"] in ("memory_limit", "failed") and "kept" not in result["stdout"]


@pytest.mark.root
def test_groups_refused_by_a_policy_that_misses_nothing(place):
    result, status = python(place, "", "--config", place / "config", "--policy", "whole",
                            groups=False)
    assert status == 125 and result["error"]["code"] == "host"
    assert "layer cgroup-" in result["error"]["message"]


@pytest.mark.parametrize("layer", ["userns", "pidns", "mntns", "rootfs", "caps", "nnp", "seccomp"])
def test_no_policy_may_miss_the_walls(place, layer, tmp_path):
    policies = tmp_path / "policies"
    policies.mkdir()
    policy = policies / "bare.json"
    policy.write_text(json.dumps({"extends": "default", "may_miss": [layer]}))
    policy.chmod(0o600)
    result, status = python(place, "", "--config", tmp_path, "--policy", "bare")
    assert status != 0 and "stdout" not in result
    assert layer in result["error"]["message"]


@pytest.mark.parametrize("missing", [word for word, layer in LOST.items() if layer])
def test_doctor_says_so(place, whole, missing):
    report, _ = answer(place, missing, "doctor", "--json")
    states = {layer["name"]: layer["state"] for layer in report["layers"]}
    assert states[LOST[missing]] == "missing"


# --- templates ----------------------------------------------------------------------------------

CLONE = """
import ctypes, os, threading
libc = ctypes.CDLL(None)
own, size = ctypes.c_void_p(), ctypes.c_size_t()
libc.syscall(274, 0, ctypes.byref(own), ctypes.byref(size))  # get_robust_list
found = []
thread = threading.Thread(target=lambda: found.append(os.readlink("/proc/thread-self/ns/time")))
thread.start()
thread.join()
for cpu in sorted(os.sched_getaffinity(0)):
    os.sched_setaffinity(0, {cpu})
    found.append(libc.sched_getcpu() == cpu)
clocks = os.readlink("/proc/self/ns/time")
same = found.pop(0) == clocks == os.readlink("/proc/self/ns/time_for_children")
print(same, set(found), bool(own.value))
"""


def ahead(place, missing, code, *options):
    result, status = answer(place, missing, "run", "--json", "--start", "warm", *options,
                            "--lang", "python", "-c", code)
    assert status == 0 and result["status"] == "ok" and result["start"] == "warm", result
    return result


def doctor_of_python(place, missing):
    report, _ = answer(place, missing, "doctor", "--json")
    return next(it for it in report["warm"] if it["name"] == "python")["detail"]


@pytest.mark.parametrize("missing", UNPINNED)
def test_clones_without_pinned_pages(place, whole, missing):
    """They rehearse instead: nothing is lost but time, and doctor says so."""
    assert ahead(place, missing, "print('ran')")["stdout"] == "ran\n"
    assert UNPINNED[missing] in doctor_of_python(place, missing)


def test_clones_with_pinned_pages(place, whole):
    """Control: elsewhere they are, unless this host lacks something itself."""
    found = doctor_of_python(place, "")
    if "cannot be pinned" in found:
        pytest.skip(found)
    assert "pages of its template are pinned" in found


@pytest.mark.parametrize("options", [[], ["--policy", "no-rseq"]], ids=["allowed", "refused"])
@pytest.mark.parametrize("missing", ["", "rseq", "io-uring"])
def test_thread_of_a_clone(place, whole, missing, options):
    """The payload process in a clone's memory has all that a program's first thread has."""
    options = ["--config", place / "config", *options] if options else []
    result = ahead(place, missing, CLONE, *options)
    assert result["stdout"] == "True {True} True\n", result


@pytest.mark.root
@pytest.mark.parametrize("missing", ["", "inner-userns"])
def test_service_without_namespaces_for_its_warden(place, missing, tmp_path):
    """Where a host has none for ordinary users the warden stays root, and the log reports it."""
    command = [BRIG, "serve", "--listen", f"unix:{tmp_path}/s", "--state", tmp_path / "state"]
    if missing:
        command = [place / "without", missing, *command]
    with open(tmp_path / "log", "wb") as log:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 30
        while b"event=ready" not in (tmp_path / "log").read_bytes():
            assert server.poll() is None and time.monotonic() < end, (tmp_path / "log").read_text()
            time.sleep(0.02)
        children = pathlib.Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        uids = {
            pathlib.Path(f"/proc/{pid}/comm").read_text().strip():
            pathlib.Path(f"/proc/{pid}").stat().st_uid for pid in children
        }
        said = b"event=seal-missing which=own-root" in (tmp_path / "log").read_bytes()
        assert said == bool(missing)
        assert (uids["brig-warden"] == 0) == bool(missing), uids
    finally:
        server.terminate()
        server.wait(30)
