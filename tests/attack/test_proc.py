# SPDX-License-Identifier: Apache-2.0
"""docs/design/threat-model.md, /proc and /sys: P1 to P9."""

import os
import pathlib

import harness

SETTINGS = ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
            "/proc/sys/kernel/poweroff_cmd", "/proc/sys/fs/binfmt_misc/register",
            "/proc/sys/kernel/sysrq", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper",
            "/proc/sys/kernel/hotplug", "/proc/sys/vm/drop_caches", "/proc/sys/kernel/ns_last_pid"]

KERNEL = ["/proc/kcore", "/proc/kallsyms", "/proc/iomem", "/proc/ioports", "/proc/vmallocinfo",
          "/proc/slabinfo", "/proc/timer_list", "/proc/kmsg", "/proc/kpagecount",
          "/proc/kpageflags", "/proc/kpagecgroup", "/proc/modules", "/proc/buddyinfo",
          "/proc/pagetypeinfo", "/proc/zoneinfo", "/proc/sched_debug", "/proc/acpi", "/proc/scsi",
          "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/notes", "/sys/firmware",
          "/sys/kernel/vmcoreinfo", "/dev/kmsg", "/dev/mem"]

FACTS = ["/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/hostname", "/etc/machine-id",
         "/var/lib/dbus/machine-id", "/sys/class/dmi/id/product_uuid", "/sys/class/dmi/id/board_name",
         "/proc/cmdline", "/proc/uptime", "/proc/loadavg", "/proc/interrupts", "/proc/diskstats",
         "/proc/partitions", "/proc/stat", "/proc/version", "/proc/softirqs", "/proc/vmstat",
         "/proc/pressure/cpu", "/proc/schedstat", "/proc/swaps", "/proc/filesystems",
         "/sys/block", "/sys/class/net", "/sys/devices/virtual", "/sys/fs", "/sys/module"]

TENANTS = ["/proc/keys", "/proc/key-users", "/proc/locks", "/proc/net/unix", "/proc/net/tcp",
           "/proc/net/arp", "/proc/net/route", "/proc/sysvipc/shm", "/proc/sysvipc/msg",
           "/proc/sysvipc/sem", "/proc/consoles", "/proc/driver"]


def exact(seen, paths, wanted):
    """Every path, for reading and for writing, failed with the expected errno."""
    assert len(seen.said) == 2 * len(paths)
    assert {what: value for what, value in seen.said.items() if value != wanted} == {}


def there(paths):
    """The paths that this host has: only they prove something."""
    return [path for path in paths if os.path.exists(path)]


# --- P1, P2 -------------------------------------------------------------------------------------


def test_P01_settings_absent(attack):
    exact(attack.cell("p01_settings", *SETTINGS), SETTINGS, "ENOENT")
    # Control: opened, never written.
    present = there(SETTINGS)
    assert "/proc/sys/kernel/core_pattern" in present
    bare = attack.bare("p01_settings", "/proc/sys/kernel/core_pattern")
    assert bare["read /proc/sys/kernel/core_pattern"].startswith("OK ")
    if harness.ROOT:
        assert bare["write /proc/sys/kernel/core_pattern"] == "OK"


def test_P02_nothing_writable(attack):
    seen = attack.cell("p02_writable", "/proc", "/sys")
    assert seen["writable"] == ""
    assert int(seen["seen"]) > 0


def test_P02_control(attack):
    """The root of a network namespace may change its settings, and any user its own process."""
    control = attack.namespaced("p02_writable", "/proc/sys/net")
    writable = control["writable"].split()
    assert "/proc/sys/net/ipv4/ip_forward" in writable
    assert "/proc/self/oom_score_adj" in writable


# --- P3, P4, P7 ---------------------------------------------------------------------------------


def test_P03_kernel_hidden(attack):
    exact(attack.cell("p01_settings", *KERNEL), KERNEL, "ENOENT")
    bare = attack.bare("p01_settings", "/proc/kallsyms", "/proc/iomem")
    assert bare["read /proc/iomem"].startswith("OK")
    assert bare["read /proc/kallsyms"].startswith("OK")
    assert len(there(KERNEL)) > 5


def test_P04_facts_hidden(attack):
    exact(attack.cell("p01_settings", *FACTS), FACTS, "ENOENT")
    bare = attack.bare("p01_settings", *FACTS)
    assert bare["read /proc/uptime"].startswith("OK")
    assert bare["read /proc/sys/kernel/random/boot_id"].startswith("OK")


def test_P04_facts_constant(attack):
    """Facts that have to be reported are the same in every cell, and not the host's."""
    first, second = attack.cell("p04_facts"), attack.cell("p04_facts")
    bare = attack.bare("p04_facts")
    for name in ("nodename", "domainname", "uptime", "loads", "totalram", "freeram", "procs",
                 "hostid", "online"):
        assert first[name] == second[name], name
    assert first["nodename"] == "brig"
    assert first["loads"] == "0 0 0"
    assert int(first["totalram"]) == first.result["limits"]["memory_bytes"]
    for name in ("nodename", "uptime", "totalram", "freeram", "procs"):
        assert first[name] != bare[name], name
    if "timens" in first.result["layers"]:
        assert int(first["boottime"]) < 5 < int(bare["boottime"])
        assert int(first["monotonic"]) < 5 < int(bare["monotonic"])


def test_P07_other_tenants_hidden(attack):
    exact(attack.cell("p01_settings", *TENANTS), TENANTS, "ENOENT")
    bare = attack.bare("p01_settings", "/proc/locks", "/proc/key-users", "/proc/net/unix")
    assert bare["read /proc/net/unix"].startswith("OK")
    assert bare["read /proc/key-users"].startswith("OK")


def test_P07_own_network_only(attack):
    """/proc/self/net belongs to the cell: one interface, no socket of the host."""
    seen = attack.cell("p07_net")
    assert seen["interfaces"] == "lo"
    assert seen["unix"] == seen["tcp"] == "0"
    bare = attack.bare("p07_net")
    assert bare["interfaces"] != "lo" or int(bare["unix"]) > 0


# --- mounts -------------------------------------------------------------------------------------


def test_P04_mounts_tell_no_path(attack):
    """The list of mounts names nothing of the host but the system's own directories.

    It names a directory that the caller mounts: the kernel has no way to hide that.
    """
    (attack.dir / "mine.txt").write_text("x")
    seen = attack.brig("--in", "mine.txt", "-c", "print(open('/proc/self/mountinfo').read())",
                       "--lang", "python")
    mounts = [line.split() for line in seen.stdout.splitlines() if line]
    assert {mount[4] for mount in mounts} >= {"/", "/proc", "/sandbox", "/tmp"}
    for mount in mounts:
        assert mount[4].startswith(("/usr/", "/lib", "/bin", "/etc/", "/dev", "/sandbox", "/tmp",
                                    "/proc", "/opt/")) or mount[4] == "/", mount
    assert str(attack.dir) not in seen.stdout
    # Control: a plain bind mount does reveal it.
    words = [*harness.NAMESPACES, "sh", "-ec", 'mount --bind "$0" /mnt; cat /proc/self/mountinfo',
             attack.dir]
    assert attack.dir.name in harness.execute(words, attack.dir).stdout


# --- P5 -----------------------------------------------------------------------------------------


def test_P05_cgroups_hidden(attack):
    seen = attack.cell("p05_cgroup")
    assert seen["mounts"] == "0"
    assert {seen[name] for name in ("dir", "v2", "v1", "unified")} == {"ENOENT"}
    # A name would reveal brig's process number on the host, and the run's.
    assert seen["names"] == ""
    bare = attack.bare("p05_cgroup")
    assert int(bare["mounts"]) > 0 and bare["dir"] == "OK"


# --- P6 -----------------------------------------------------------------------------------------


def test_P06_init_hidden(attack):
    seen = attack.cell("p06_init", "1")
    assert len(seen.said) == 14
    assert set(seen.said.values()) == {"ENOENT"}
    # Control: the program's own files are there, so /proc is not empty.
    own = attack.cell("p06_init", "self")
    assert own["environ"] == own["maps"] == own["root"] == own["fd"] == "OK"
    # Control: in a plain pid namespace, pid 1 is readable for other processes.
    control = attack.namespaced("p06_init", "1")
    assert control["environ"] == control["maps"] == control["mem"] == "OK"


# --- P8, P9 -------------------------------------------------------------------------------------


def test_P08_proc_mounts_refused(attack):
    seen = attack.cell("p08_proc_mount")
    assert len(seen.said) == 5 and set(seen.said.values()) == {"EPERM"}
    assert seen.denial["call"] == "mount"
    control = attack.namespaced("p08_proc_mount")
    assert control["second"] == control["bind"] == control["over"] == control["fsopen"] == "OK"


def test_P09_own_files_refused(attack):
    seen = attack.cell("p09_self")
    landlock = "landlock" in seen.result["layers"]
    harmless = {seen.said.pop("raise"), seen.said.pop("comm")}
    assert harmless <= ({"EACCES"} if landlock else {"OK"})
    assert "OK" not in seen.said.values()
    assert set(seen.said.values()) <= ({"EACCES"} if landlock else {"EACCES", "EPERM", "EINVAL"})
    bare = attack.bare("p09_self")
    assert bare["raise"] == bare["comm"] == "OK"
    assert attack.namespaced("p09_self")["comm"] == "OK"


def test_P09_oom_score_of_the_cell(attack):
    """As seen from the host: the payload could not protect itself from the OOM killer."""
    before = pathlib.Path("/proc/self/oom_score_adj").read_text().strip()
    seen = attack.brig("--", "cat", "/proc/self/oom_score_adj")
    assert int(seen.stdout) >= int(before)
