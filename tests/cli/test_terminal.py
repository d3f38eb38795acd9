# SPDX-License-Identifier: Apache-2.0
"""brig run -it: a program that has a terminal."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import pytest
from conftest import BRIG, run_brig


class Person:
    """A person at a terminal: the typed input, the visible output."""

    def __init__(self, *words, rows=30, columns=90):
        self.fd, theirs = pty.openpty()
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.run = subprocess.Popen([BRIG, "run", "-it", *words], stdin=theirs, stdout=theirs,
                                    stderr=theirs, start_new_session=True)
        self.seen = b""

    def see(self, what, seconds=30):
        end = time.monotonic() + seconds
        while what not in self.seen and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.2)[0]:
                self.seen += os.read(self.fd, 65536)
        assert what in self.seen, self.seen
        return self.seen

    def type(self, data):
        os.write(self.fd, data)

    def end(self):
        status = self.run.wait(30)
        while select.select([self.fd], [], [], 0.1)[0]:
            self.seen += os.read(self.fd, 65536)
        return status

    def close(self):
        if self.run.poll() is None:
            self.run.send_signal(signal.SIGTERM)
            self.run.wait(30)
        os.close(self.fd)
        os.close(self.theirs)


@pytest.fixture
def person():
    people = []

    def make(*words, **more):
        people.append(Person(*words, **more))
        return people[-1]

    yield make
    for one in people:
        one.close()


def test_it_is_a_terminal_of_this_size(person):
    one = person("-c", "import os, sys; print(*(os.isatty(fd) for fd in range(3)),"
                       " *os.get_terminal_size(), os.tcgetpgrp(0) == os.getpgrp())")
    assert one.end() == 0
    assert b"True True True 90 30 True" in one.seen


def test_a_shell(person):
    one = person("--", "/bin/bash", "--norc")
    one.see(b"$ ")
    one.type(b"echo $((6 * 7))\r")
    one.see(b"42")
    one.type(b"stty size; exit 3\r")
    assert one.end() == 3
    assert b"30 90" in one.seen
    assert termios.tcgetattr(one.theirs) == one.before  # as it was


def test_interrupt_reaches_the_program_not_brig(person):
    one = person("-c", "import time\ntry:\n  print('ready', flush=True); time.sleep(60)\n"
                       "except KeyboardInterrupt:\n  print('heard')")
    one.see(b"ready")
    one.type(b"\x03")
    assert one.end() == 0
    assert b"heard" in one.seen


def test_resize(person):
    one = person("-c", "import os, signal, time\n"
                       "signal.signal(signal.SIGWINCH, lambda *a: print(os.get_terminal_size()))\n"
                       "print('ready', flush=True)\n"
                       "while os.get_terminal_size().lines != 11: time.sleep(0.1)\n"
                       "time.sleep(0.2)")
    one.see(b"ready")
    fcntl.ioctl(one.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 11, 44, 0, 0))
    one.run.send_signal(signal.SIGWINCH)
    one.see(b"columns=44, lines=11")
    assert one.end() == 0


def test_limits_hold(person):
    one = person("--timeout", "500ms", "-c", "while True: pass")
    assert one.end() == 124
    assert b"brig: timeout" in one.seen
    assert termios.tcgetattr(one.theirs) == one.before


def test_sequences_that_reach_beyond_the_screen(person):
    """The clipboard, the title, and queries whose answers the terminal types."""
    code = (r"print('\x1b]52;c;aGk=\x07\x1b]0;title\x1b\\\x1bP+q\x1b\\\x1b[6n\x1b[c\x1b[>c'"
            r"'\x1b[?1$p\x1b[21t\x1b[5i', end=''); print('\x1b[31mred\x1b[0m\x1b[2J\x1b(Bok')")
    one = person("-c", code)
    assert one.end() == 0
    assert one.seen == b"\x1b[31mred\x1b[0m\x1b[2J\x1b(Bok\r\n"


def test_controls_of_eight_bits(person):
    """Terminals execute U+009B and U+009D as they execute ESC [ and ESC ]."""
    code = (r"import os; os.write(1, b'\xc2\x9b6n\xc2\x9d52;c;aGk=\x07\x9b6n\x1b[\xc2\x9d0;hi\x07'"
            r" + '\xe4\xfc \u4f60'.encode() + b'\n')")
    one = person("-c", code)
    assert one.end() == 0
    assert b"\x9b" not in one.seen and b"\x9d" not in one.seen
    assert "\xe4\xfc \u4f60".encode() in one.seen


def test_the_terminal_is_as_before(person):
    """With the mouse still reported, each click would type into the shell."""
    one = person("-c", r"print('\x1b[?1003h\x1b[?1006h\x1b[8mhidden', end='')")
    assert one.end() == 0
    assert one.seen.endswith(b"hidden\x1b[?1003l\x1b[?1006l\x1b[m")


def test_nothing_is_typed_into_it(person):
    """TIOCSTI and similar calls are refused; no terminal of the host has a name in the cell."""
    one = person("-c", "import fcntl, os\n"
                       "for call in (0x5412, 0x5423, 0x541D, 0x541C):\n"
                       "  try: fcntl.ioctl(0, call, b'x'); print('DONE', hex(call))\n"
                       "  except OSError as e: print(e.strerror)\n"
                       "print([os.path.exists(p) for p in ('/dev/tty', '/dev/pts', '/dev/ptmx')])")
    assert one.end() == 0
    assert one.seen.count(b"Operation not permitted") == 4
    assert b"[False, False, False]" in one.seen


def test_nobody_else_is_let_in(person):
    """Its name on the host is only for its owner: the program cannot change that, owner or not."""
    one = person("-c", "import os\n"
                       "for change in (lambda: os.fchmod(0, 0o666), lambda: os.fchmod(2, 0o666),\n"
                       "               lambda: os.chmod('/proc/self/fd/1', 0o666)):\n"
                       "  try: change(); print('DONE')\n"
                       "  except OSError as e: print('refused')\n"
                       "print('%o' % (os.fstat(0).st_mode & 0o22))")
    assert one.end() == 0
    assert one.seen == b"refused\r\n" * 3 + b"0\r\n"


def test_a_policy_without(person):
    one = person("--policy", "strict", "-c", "1")
    assert one.end() == 126
    assert b"policy strict does not allow a terminal" in one.seen


@pytest.mark.parametrize("words, what", [
    (["-c", "1"], b"not a terminal"), (["--json", "-c", "1"], b"--json"),
    (["-"], b"stdin is the code")])
def test_where_there_is_none(words, what):
    done = run_brig("run", "-it", *words)
    assert done.returncode == 2
    assert what in done.stderr + done.stdout
