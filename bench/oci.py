# SPDX-License-Identifier: Apache-2.0
"""OCI bundles for crun: the strongest profile that the format allows, with brig's own limits."""

import base64
import json
import os

MASKED = ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
          "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",
          "/sys/firmware"]
READONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
NAMESPACES = ["pid", "network", "ipc", "uts", "mount", "user", "cgroup"]
SUBORDINATE = 100000  # first of the host's ids to which the container's ids are mapped, as root
PAYLOAD = 1000


def id_map(own):
    """As root a range that belongs to nobody; as an ordinary user the user's only id."""
    if os.geteuid() == 0:
        return [{"containerID": 0, "hostID": SUBORDINATE, "size": 65536}]
    return [{"containerID": PAYLOAD, "hostID": own, "size": 1}]


def mounts(closure):
    quiet = ["nosuid", "noexec", "nodev"]
    places = [
        {"destination": "/proc", "type": "proc", "source": "proc", "options": quiet},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
         "options": ["nosuid", "noexec", "mode=755", "size=64k"]},
        {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs",
         "options": ["nosuid", "nodev", "mode=1777", "size=64m", "nr_inodes=4096"]},
        {"destination": "/sandbox", "type": "tmpfs", "source": "tmpfs",
         "options": ["nosuid", "nodev", "mode=1777", "size=64m", "nr_inodes=4096"]},
    ]
    for path in closure.binds:
        places.append({"destination": path, "type": "bind", "source": path,
                       "options": ["bind", "ro", "nosuid", "nodev"]})
    return places


def resources(limits):
    return {
        "memory": {"limit": limits["memory_bytes"], "swap": limits["memory_bytes"]},
        "pids": {"limit": limits["processes"]},
        "cpu": {"quota": limits["cpu_millicores"] * 100, "period": 100000},
        "devices": [{"allow": False, "access": "rwm"}],
    }


def rlimits(limits):
    wanted = {"RLIMIT_NOFILE": limits["open_files"], "RLIMIT_FSIZE": limits["file_bytes"],
              "RLIMIT_CORE": 0, "RLIMIT_CPU": limits["cpu_ms"] // 1000 + 2,
              "RLIMIT_NPROC": limits["processes"], "RLIMIT_STACK": 8 << 20,
              "RLIMIT_MEMLOCK": 64 << 10}
    return [{"type": kind, "hard": value, "soft": value} for kind, value in wanted.items()]


def config(args, closure, limits, bpf, cgroup):
    """`bpf` is passed compiled, which is cheaper for crun than to compile the list itself."""
    linux = {
        "namespaces": [{"type": kind} for kind in NAMESPACES],
        "uidMappings": id_map(os.getuid()),
        "gidMappings": id_map(os.getgid()),
        "maskedPaths": MASKED,
        "readonlyPaths": READONLY,
    }
    if cgroup:
        linux["cgroupsPath"] = cgroup
        linux["resources"] = resources(limits)
    return {
        "ociVersion": "1.0.0",
        "process": {
            "terminal": False, "user": {"uid": PAYLOAD, "gid": PAYLOAD}, "args": args,
            "env": ["PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/sandbox"], "cwd": "/sandbox",
            "capabilities": {kind: [] for kind in ("bounding", "effective", "inheritable",
                                                   "permitted", "ambient")},
            "rlimits": rlimits(limits), "noNewPrivileges": True,
        },
        "root": {"path": "rootfs", "readonly": True},
        "hostname": "brig",
        "mounts": mounts(closure),
        "annotations": {"run.oci.seccomp_bpf_data": base64.b64encode(bpf).decode()},
        "linux": linux,
    }


def make_root(path, closure, programs):
    """The tree on which the closure is mounted, with the programs themselves at the top."""
    for name in ("proc", "dev", "tmp", "sandbox"):
        os.makedirs(os.path.join(path, name))
    for link, target in closure.links:
        os.makedirs(os.path.dirname(path + link), exist_ok=True)
        os.symlink(target, path + link)
    for bind in closure.binds:
        if os.path.isdir(bind):
            os.makedirs(path + bind, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path + bind), exist_ok=True)
            with open(path + bind, "w", encoding="ascii"):
                pass
    for program in programs:
        name = os.path.join(path, os.path.basename(program))
        with open(program, "rb") as source, open(name, "wb") as copy:
            copy.write(source.read())
        os.chmod(name, 0o755)


def make_bundle(path, closure, programs, settings):
    os.makedirs(path)
    os.chmod(path, 0o755)
    make_root(os.path.join(path, "rootfs"), closure, programs)
    with open(os.path.join(path, "config.json"), "w", encoding="ascii") as out:
        json.dump(settings, out)
