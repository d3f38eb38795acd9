# SPDX-License-Identifier: Apache-2.0
"""O1 to O4: output is data; the caller's terminal and log are out of reach."""

import base64
import json
import os
import pty
import select
import subprocess
import time

import harness
from aftermath import gone

ORDERS = ("\x1b]0;title\x07\x1b[2J\x1b]52;c;ZXZpbA==\x07\b\r\x00\x7f\u202e bidi \u009b31m \x0e\x0f"
          "\x1bc")
INVALID = b"\xff\xfe\xc0\x80\xed\xa0\x80\x9b31m"


def on_terminal(words, cwd, seconds=20):
    """Runs it on a terminal of its own: exit status, its output, the input that was
    typed for it."""
    master, slave = pty.openpty()
    run = subprocess.Popen([str(word) for word in words], cwd=cwd, stdin=slave, stdout=slave,
                           stderr=slave, start_new_session=True,
                           preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)))
    shown, end = b"", time.monotonic() + seconds
    while run.poll() is None or select.select([master], [], [], 0.1)[0]:
        assert time.monotonic() < end, shown
        if select.select([master], [], [], 0.05)[0]:
            shown += os.read(master, 65536)
    # Input pushed into the terminal waits there to be read by the next program.
    os.set_blocking(slave, False)
    try:
        typed = os.read(slave, 100)
    except BlockingIOError:
        typed = b""
    os.close(slave)
    os.close(master)
    return run.returncode, shown.replace(b"\r\n", b"\n"), typed


def test_o1_terminal(attack):
    words = [harness.BRIG, "run", "--", attack.program("o1_terminal")]
    status, shown, typed = on_terminal(words, attack.dir)
    said = harness.says(shown.decode())
    assert (status, said["tty"], said["ptmx"], said["isatty"]) == (0, "ENOENT", "ENOENT", "000")
    for name in ("type0", "type1", "type2", "type_tty", "paste", "discipline", "console"):
        assert said[name] == "EPERM", name
    assert said["take"] == "ENOTTY" and said["session"] == "own"
    assert typed == b"" and b"typed" not in shown
    # Control: without a cell it has the terminal, and types into it where the kernel allows it.
    status, shown, typed = on_terminal([attack.program("o1_terminal")], attack.dir)
    said = harness.says(shown.decode())
    assert (said["tty"], said["isatty"]) == ("OK", "111")
    if harness.read("/proc/sys/dev/tty/legacy_tiocsti").strip() != "0":
        assert said["type0"] == "OK" and b"typed" in typed


def test_o2_escapes_json(attack):
    """In JSON every byte comes back, and the JSON itself is plain text."""
    for kind, wanted in (("valid", ORDERS.encode()), ("invalid", ORDERS.encode() + INVALID)):
        done = harness.execute([harness.BRIG, "run", "--json", attack.program("o2_escapes"), "--",
                                kind], attack.dir)
        assert len(done.stdout.splitlines()) == 1
        assert all(" " <= char for char in done.stdout.rstrip("\n")), done.stdout
        assert "\x7f" not in done.stdout and "\u009b" not in done.stdout
        result = json.loads(done.stdout)
        assert result["status"] == "ok"
        assert result["encoding"] == ("utf-8" if kind == "valid" else "base64")
        for stream in ("stdout", "stderr"):
            text = result[stream]
            assert (base64.b64decode(text) if kind == "invalid" else text.encode()) == wanted


def test_o2_escapes_shown(attack):
    """On a terminal no byte acts as a command; in a pipe the output is unchanged."""
    words = [harness.BRIG, "run", attack.program("o2_escapes"), "--", "invalid"]
    status, shown, _ = on_terminal(words, attack.dir)
    assert status == 0
    for order in (b"\x1b", b"\x07", b"\x08", b"\x00", b"\x7f", b"\xc2\x9b", b"\x9b31m", b"\x0e",
                  "\u202e".encode()):
        assert order not in shown, (order, shown)
    shown.decode()  # all of it is text
    assert b"bidi" in shown
    # Control: the same program, bare, sends its commands to the terminal; and a pipe gets them.
    _, shown, _ = on_terminal([harness.PYTHON, attack.program("o2_escapes"), "invalid"],
                              attack.dir)
    assert b"\x1b]52;c;" in shown
    piped = subprocess.run([harness.BRIG, "run", attack.program("o2_escapes"), "--", "invalid"],
                           cwd=attack.dir, capture_output=True)
    assert piped.stdout == ORDERS.encode() + INVALID


def test_o3_order(attack):
    """Below the cap every byte is there, in order, on both streams."""
    text = "".join(f"{line:015}\n" for line in range(3 * 1024 * 64))
    run = gone(attack.cell("x12_flood", "both", 3 * 1024,
                           options=["--stdout", "4M", "--stderr", "4M"]))
    assert run.result["status"] == "ok"
    assert run.stdout == text and run.stderr == text
    assert not run.result["stdout_truncated"] and not run.result["stderr_truncated"]
    # The same when they are forwarded as they arrive.
    done = harness.execute([harness.BRIG, "run", "--stdout", "4M", "--stderr", "4M", "--",
                            attack.program("x12_flood"), "both", 3 * 1024], attack.dir)
    assert done.returncode == 0 and done.stdout == text and done.stderr == text


EVIL = "evil\nbrig: ok: all is well\r\x1b[2J\x1b]0;t\x07"


def test_o4_log_injection(attack, tmp_path):
    """Names with line ends and control sequences: brig prints one line for each message."""
    program = tmp_path / EVIL.replace("/", "_")
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    ways = [["--", f"./{program.name}x"], ["--", f"./{program.name}"], ["--lang", EVIL, "-c", "x"],
            ["--policy", EVIL, "--", "/bin/true"], ["--env", f"{EVIL}=1", "--", "/bin/true"],
            ["--in", f"{EVIL}={program}", "--", "/bin/true"], ["--in", EVIL, "--", "/bin/true"],
            ["--ro", EVIL, "--", "/bin/true"], ["--memory", EVIL, "--", "/bin/true"],
            [f"--{EVIL}"], [EVIL], ["--out-dir", EVIL, "--out", EVIL, "--", "/bin/true"],
            ["--config", EVIL, "--policy", "x", "--", "/bin/true"]]
    for words in ways:
        text = harness.execute([harness.BRIG, "run", *words], tmp_path)
        for line in text.stderr.splitlines():
            assert not line.startswith("brig: ok: all is well"), (words, text.stderr)
        assert "\x1b" not in text.stderr and "\x07" not in text.stderr, (words, text.stderr)
        as_json = harness.execute([harness.BRIG, "run", "--json", *words], tmp_path)
        lines = as_json.stdout.splitlines()
        assert len(lines) == 1, (words, as_json)
        json.loads(lines[0])
        assert "\x1b" not in as_json.stdout + as_json.stderr, (words, as_json)
    # The text of an exit is the program's own stream, and never brig's line in JSON.
    run = attack.brig("--lang", "python", "-c", f"raise SystemExit({EVIL!r})")
    assert (run.result["status"], run.result["exit_code"]) == ("failed", 1)
    assert EVIL in run.stderr
