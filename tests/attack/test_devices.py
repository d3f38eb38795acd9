# SPDX-License-Identifier: Apache-2.0
"""docs/design/threat-model.md, Devices: D1 to D5."""

import os

import harness

NODES = {"/dev/full": "1:7", "/dev/null": "1:3", "/dev/random": "1:8", "/dev/urandom": "1:9",
         "/dev/zero": "1:5"}

ABSENT = ["/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/loop-control", "/dev/loop0", "/dev/vsock",
          "/dev/vhost-vsock", "/dev/vhost-net", "/dev/mem", "/dev/port", "/dev/kmsg",
          "/dev/cpu/0/msr", "/dev/dri", "/dev/mapper/control", "/dev/btrfs-control", "/dev/uinput",
          "/dev/snapshot", "/dev/userfaultfd", "/dev/ppp", "/dev/hpet", "/dev/rtc0", "/dev/watchdog",
          "/dev/vda", "/dev/sda", "/dev/console", "/dev/tty0", "/dev/input", "/dev/shm/../mem",
          "/dev/autofs", "/dev/hwrng", "/dev/vfio/vfio", "/dev/log"]
# Nodes that a cell lacks and that every host has, a container too.
EVERYWHERE = ["/dev/tty", "/dev/ptmx", "/dev/pts/ptmx"]


def test_D01_five_nodes(attack):
    seen = attack.cell("d01_nodes", "/")
    assert dict(node.split("@") for node in seen["nodes"].split()) == NODES
    bare = attack.bare("d01_nodes", "/dev")
    assert len(bare["nodes"].split()) > len(NODES)


def test_D02_mknod_refused(attack):
    places = ["/sandbox", "/tmp", "/dev/shm"]
    seen = attack.cell("d02_mknod", *places)
    for place in places:
        for what in ("char", "block", "at"):
            assert seen[f"{what} {place}"] == "EPERM"
        assert seen[f"fifo {place}"] == "OK"
    assert seen["unshare"] == seen["nested"] == "EPERM"
    assert seen.denial["call"] in ("mknod", "mknodat")


def test_D02_second_wall(attack):
    """The policy allows the calls: the kernel refuses them, and no nested namespace is
    available."""
    groups = ["@basic", "@file", "@process", "@thread", "@socket", "@ipc", "@dangerous"]
    options = attack.policy("nodes", syscalls=groups + ["mknod", "mknodat", "unshare"])
    seen = attack.cell("d02_mknod", "/sandbox", options=options)
    assert seen.denial == {}
    assert seen["unshare"] == "ENOSPC"  # userns.count: the inner one is the only one
    assert seen["char /sandbox"] in ("EPERM", "EACCES") and seen["block /sandbox"] in ("EPERM", "EACCES")
    assert seen["nested"] in ("EPERM", "EACCES")


def test_D02_control(attack):
    bare = attack.bare("d02_mknod", attack.dir)
    assert bare[f"fifo {attack.dir}"] == "OK"
    if harness.ROOT:
        assert bare[f"char {attack.dir}"] == bare[f"block {attack.dir}"] == "OK"


def test_D02_whiteout_refused(attack):
    """A rename that leaves a node behind needs no capability, and Landlock does not detect it."""
    meet = attack.dir / "meet"
    meet.mkdir()
    meet.chmod(0o777)
    places = ["/sandbox", "/tmp", "/dev/shm", "/mnt/meet"]
    seen = attack.cell("rename_whiteout", *places, options=["--rw", meet])
    for place in places:
        assert (seen[f"whiteout {place}"], seen[f"both {place}"]) == ("Operation not permitted",) * 2
        assert seen[f"unknown {place}"] == "Invalid argument"
        assert seen[f"exchange {place}"] == seen[f"plain {place}"] == "OK"
        assert seen[f"nodes {place}"] == "0"
    assert seen.denial["meaning"] == "renameat2(-100, ..., -100, ..., RENAME_WHITEOUT)", seen.denial
    # Control: as root of a namespace of its own, without rights on the host's devices.
    bare = attack.namespaced("rename_whiteout", attack.dir)
    assert (bare[f"whiteout {attack.dir}"], bare[f"nodes {attack.dir}"]) == ("OK", "2")


def test_D03_devices_absent(attack):
    names = [*ABSENT, *EVERYWHERE]
    seen = attack.cell("p01_settings", *names)
    assert len(seen.said) == 2 * len(names)
    assert set(seen.said.values()) == {"ENOENT"}
    assert all(os.path.exists(path) for path in EVERYWHERE)


def test_D04_no_terminals(attack):
    seen = attack.cell("d04_terminals")
    assert seen.said.pop("listed") == "0"
    assert len(seen.said) == 6 and set(seen.said.values()) == {"ENOENT"}
    bare = attack.bare("d04_terminals")
    assert bare["openpt"] == bare["ptmx"] == bare["pts"] == "OK"


def test_D05_ioctl_refused(attack):
    seen = attack.cell("d05_ioctl", "all")
    # Landlock from ABI 5 on allows no device-specific ioctl at all.
    assert seen.said.pop("RNDGETENTCNT") in ("OK", "EACCES")
    assert seen.said.pop("BLKROSET") in ("EACCES", "ENOTTY", "EINVAL")
    assert seen.said.pop("FITRIM") in ("EACCES", "ENOTTY", "EINVAL")
    assert len(seen.said) == 6 and set(seen.said.values()) == {"EPERM"}
    assert seen.denial["call"] == "ioctl"
    bare = attack.bare("d05_ioctl")
    assert bare["RNDGETENTCNT"] == "OK"
    if harness.ROOT:
        assert bare["RNDADDTOENTCNT"] == bare["RNDRESEEDCRNG"] == "OK"
        assert bare["RNDRESEEDCRNG-high"] == "OK"  # the kernel compares only 32 bits
