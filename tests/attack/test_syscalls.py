# SPDX-License-Identifier: Apache-2.0
"""docs/design/threat-model.md, System calls: S1 to S12. S9 is tests/unit/test_policy_proof.c."""

import os

import harness
import pytest

# --- S1 -----------------------------------------------------------------------------------------


def test_S01_before_first_instruction(attack):
    seen = attack.cell("s01_first")
    assert seen.result["exit_code"] == 1  # EPERM
    assert seen.denial["call"] == "unshare"
    assert attack.bare("s01_first").status == 0


def test_S01_every_thread(attack):
    seen = attack.cell("s01_threads")
    threads = ["first", "thread0", "thread1", "thread2", "thread3", "child"]
    assert [seen[who] for who in threads] == ["2"] * 6
    assert seen["disable"] == seen["strict-then"] == "EINVAL"
    bare = attack.bare("s01_threads")
    assert [bare[who] for who in threads] == ["0"] * 6


# --- S2 to S5, S7 -------------------------------------------------------------------------------

CALLS = {
    "S02": ["unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree",
            "open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick",
            "mount_setattr"],
    "S03": ["io_uring_setup", "io_uring_enter", "io_uring_register", "io_setup", "io_submit"],
    "S04": ["bpf", "perf_event_open", "userfaultfd", "fanotify_init", "fanotify_mark", "kexec_load",
            "kexec_file_load", "init_module", "finit_module", "delete_module", "swapon", "swapoff",
            "reboot", "acct", "quotactl", "quotactl_fd", "syslog", "iopl", "ioperm",
            "clock_settime", "clock_adjtime", "settimeofday", "adjtimex"],
    "S05": ["keyctl", "add_key", "request_key"],
    "S07": ["open_by_handle_at", "name_to_handle_at", "kcmp", "process_vm_readv",
            "process_vm_writev", "pidfd_getfd", "process_madvise", "process_mrelease", "move_pages",
            "migrate_pages", "modify_ldt", "personality", "ptrace", "memfd_secret", "vmsplice"],
}

# Calls that the kernel refuses an ordinary user by itself, before it reads the arguments: their
# control needs root. In a cell the recorded denial shows that the policy refused the call.
NEEDS_ROOT = {"perf_event_open", "fanotify_init", "kexec_load", "kexec_file_load", "init_module",
              "finit_module", "delete_module", "swapon", "swapoff", "reboot", "acct", "quotactl",
              "syslog", "iopl", "ioperm", "clock_settime", "settimeofday", "open_by_handle_at",
              "bpf", "process_vm_readv", "process_vm_writev", "kcmp", "migrate_pages", "pivot_root",
              "umount2", "move_mount", "fsopen", "fsmount", "fspick", "mount_setattr", "chroot",
              "mount", "userfaultfd", "open_tree_attr", "clock_adjtime"}


@pytest.mark.parametrize("line, call", [(line, call) for line in CALLS for call in CALLS[line]])
def test_S02_S07_call_refused(attack, line, call):
    seen = attack.cell("s02_call", call)
    assert seen[call] == "EPERM"
    assert seen.denial["call"] == call and seen.denial["count"] == 1
    assert seen.denial["reason"]
    # Control: outside the invalid arguments are refused, not the call.
    if harness.ROOT or call not in NEEDS_ROOT:
        assert attack.bare("s02_call", call)[call] != "EPERM"


def test_S07_personality(attack):
    """Reading is allowed; disabling the randomness of addresses is not."""
    seen = attack.brig("--", "setarch", "--addr-no-randomize", "true")
    assert seen.result["exit_code"] != 0 and seen.denial["call"] == "personality"
    assert harness.execute(["setarch", "--addr-no-randomize", "true"], "/").returncode == 0


# --- S6 -----------------------------------------------------------------------------------------


def test_S06_socket_families(attack):
    seen = attack.cell("s06_families")
    # family:type
    assert seen["all"].split() == ["1:1", "1:2", "1:5", "2:1", "2:2", "10:1", "10:2"]
    for name in seen.said:
        if name.startswith(("AF_", "netlink-")):
            assert seen[name] == "EAFNOSUPPORT", name
    for name in ("raw", "raw6", "sctp", "ping", "udplite", "high-raw"):
        assert seen[name] == "EPERM", name
    assert seen["high-alg"] == seen["pair-inet"] == "EAFNOSUPPORT"
    assert seen.denial["call"] == "socket"
    control = attack.namespaced("s06_families")
    for name in ("AF_PACKET", "raw", "raw6", "high-raw", "netlink-uevent", "netlink-generic"):
        assert control[name] == "OK", name


# --- S8 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ["getpid", "socketcall", "ipc", "unshare", "x32", "x32-unshare"])
def test_S08_foreign_entries_killed(attack, entry):
    seen = attack.cell("s08_foreign", entry)
    assert seen["alive"] == entry  # it got this far
    assert "result" not in seen.said
    assert seen.result["status"] == "denied"
    # Control: most kernels have no x32, and return ENOSYS; the 32-bit entry works.
    bare = attack.bare("s08_foreign", entry)
    assert bare["result"] == ("ENOSYS" if entry.startswith("x32") else "OK")


# --- S10, S11, S12 ------------------------------------------------------------------------------


def test_S10_terminal_ioctls(attack):
    seen = attack.cell("s10_ioctl")
    bare = attack.bare("s10_ioctl")
    for name in ("TIOCSTI", "TIOCLINUX", "TIOCSETD", "TIOCCONS"):
        for way in (name, f"{name}-high"):
            assert seen[way] == "EPERM"
            assert bare[way] == "ENOTTY"  # stdin is a pipe: this error comes from the kernel
    assert seen["FIONREAD"] == seen["FIONREAD-high"] == "OK"
    assert seen.denial["call"] == "ioctl"


def test_S10_terminal_of_the_caller(attack):
    """brig's own stdin is a terminal: the payload still gets none."""
    master, slave = os.openpty()
    try:
        done = harness.subprocess.run(
            [harness.BRIG, "run", "--json", "--", attack.program("s10_ioctl")], cwd=attack.dir,
            stdin=slave, stdout=harness.subprocess.PIPE, text=True, timeout=20)
        os.set_blocking(master, False)
        with pytest.raises(BlockingIOError):
            os.read(master, 1)  # nothing was typed into it
    finally:
        os.close(master)
        os.close(slave)
    said = harness.says(harness.json.loads(done.stdout)["stdout"])
    assert said["TIOCSTI"] == "EPERM" and said["TCGETS"] == "ENOTTY"


def test_S11_unknown_calls(attack):
    seen = attack.cell("s11_unknown", "all")
    assert "known" not in seen.said
    assert len(seen.said) == 13 and set(seen.said.values()) == {"ENOSYS"}
    assert seen.result["status"] == "ok"  # a libc that tries new calls continues
    bare = attack.bare("s11_unknown")
    # The first is there since 5.17, the others since 6.8.
    assert any(bare[call] != "ENOSYS" for call in ("set_mempolicy_home_node", "statmount",
                                                   "listmount", "lsm_list_modules"))


def test_S12_socket_options(attack):
    seen = attack.cell("s12_sockopt")
    assert seen.said.pop("nodelay") == "OK"
    assert len(seen.said) == 12 and set(seen.said.values()) == {"EPERM"}
    assert seen.denial["call"] == "setsockopt"
    control = attack.namespaced("s12_sockopt")
    for name in ("ulp", "ulp-high", "multicast-ttl", "mcast-group", "attach-filter", "attach-bpf",
                 "tls"):
        assert control[name] != "EPERM", name
    assert control["multicast-ttl"] == control["attach-filter"] == "OK"
