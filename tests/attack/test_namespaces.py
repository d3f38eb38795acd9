# SPDX-License-Identifier: Apache-2.0
"""docs/design/threat-model.md, Namespaces: N1 to N7."""

import os
import socket

import harness

KINDS = ["user", "pid", "mnt", "net", "ipc", "uts", "cgroup", "time"]


def test_N01_all_differ(attack):
    seen, again = attack.cell("n01_links"), attack.cell("n01_links")
    kinds = [kind for kind in KINDS if kind != "time" or "timens" in seen.result["layers"]]
    for kind in kinds:
        assert seen[kind].startswith(kind + ":[")
        assert seen[kind] != os.readlink(f"/proc/self/ns/{kind}"), kind
    assert set(again.said) == set(KINDS)
    bare = attack.bare("n01_links")
    for kind in kinds:
        assert bare[kind] == os.readlink(f"/proc/self/ns/{kind}")


def test_N02_only_own_processes(attack):
    outside = [os.getpid(), os.getppid()]
    seen = attack.cell("n02_reach", *outside)
    assert seen["listed"] == seen["self"]
    for pid in outside:
        assert seen[f"lists {pid}"] == "no"
        for what in ("kill", "tkill", "pidfd_open", "getpriority", "getsid", "affinity", "prlimit"):
            assert seen[f"{what} {pid}"] == "ESRCH"
    bare = attack.bare("n02_reach", os.getpid())
    assert bare[f"kill {os.getpid()}"] == bare[f"pidfd_open {os.getpid()}"] == "OK"
    assert bare[f"lists {os.getpid()}"] == "yes"


def test_N02_init_out_of_reach(attack):
    """brig-init is the only other process: it has a number, and accepts no signal."""
    seen = attack.cell("n02_reach", "1")
    # Where it is not refused, the kernel drops signals to pid 1 from inside.
    assert seen["kill 1"] == seen["tkill 1"] == ("EPERM" if harness.signals_scoped() else "OK")
    assert seen.result["status"] == "ok"
    control = attack.namespaced("n02_reach", "1")
    assert control["kill 1"] == "OK"


def test_N02_signals_to_all(attack):
    """kill(-1), kill(0) and the group of pid 1: only the payload's own processes get the signal."""
    seen = attack.cell("n02_kill_all")
    assert seen["after"] == "alive"
    assert seen.result["status"] == "ok"
    control = attack.namespaced("n02_kill_all")
    assert control["child"] == "killed"
    assert seen["child"] == "killed"


def test_N03_no_outer_handles(attack):
    seen = attack.cell("n03_handles")
    assert seen.said.pop("open") == "OK"
    assert seen.said.pop("listns") == "ENOSYS"
    assert len(seen.said) == 8 and set(seen.said.values()) == {"EPERM"}
    assert seen.denial["call"] == "ioctl"
    bare = attack.bare("n03_handles")
    assert bare["NS_GET_USERNS"] == bare["NS_GET_USERNS-high"] == bare["NS_GET_NSTYPE"] == "OK"


def test_N04_setns_refused(attack):
    seen = attack.cell("n04_setns")
    assert len(seen.said) == 10 and set(seen.said.values()) == {"EPERM"}
    assert seen.denial["call"] == "setns"
    control = attack.namespaced("n04_setns")
    assert control["uts"] == control["net"] == control["ipc"] == control["pidfd"] == "OK"
    assert control["none"] == "EBADF"


def test_N05_new_user_namespace_refused(attack):
    seen = attack.cell("n05_clone")
    assert seen["unshare-user"] == seen["clone-user"] == "EPERM"
    assert seen["clone3-user"] == "ENOSYS"
    assert seen.denial["call"] == "unshare"
    bare = attack.bare("n05_clone")
    assert bare["unshare-user"] == bare["clone-user"] == bare["clone3-user"] == "OK"


def test_N05_by_32_bit_entry(attack):
    seen = attack.cell("s08_foreign", "unshare")
    assert seen.result["status"] == "denied" and "result" not in seen.said


def test_N06_other_namespaces_refused(attack):
    seen = attack.cell("n05_clone")
    control = attack.namespaced("n05_clone")
    for kind in KINDS[1:]:
        assert seen[f"unshare-{kind}"] == "EPERM"
        assert seen[f"clone3-{kind}"] == "ENOSYS"
        assert control[f"unshare-{kind}"] == control[f"clone3-{kind}"] == "OK"
        if kind != "time":
            assert seen[f"clone-{kind}"] == "EPERM"
            assert control[f"clone-{kind}"] == "OK"


def test_N07_names_refused(attack):
    before = socket.gethostname()
    seen = attack.cell("n07_names")
    assert seen["sethostname"] == seen["setdomainname"] == "EPERM"
    assert seen["nodename"] == "brig" and seen["domainname"] == "(none)"
    assert socket.gethostname() == before
    control = attack.namespaced("n07_names")
    assert control["sethostname"] == "OK" and control["nodename"] == "brig-attack"
