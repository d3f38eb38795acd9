# SPDX-License-Identifier: Apache-2.0
"""Runs a program by plain python3, by a clone of a template, by the driver's script, and by an
interpreter that has waited for it."""

import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest

TREE = pathlib.Path(os.environ.get("BRIG_TREE", pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get("BRIG_BUILD", TREE / "build"))
DRIVER = BUILD / "gen/data/drivers/python.py"
EXTENSION = BUILD / "template.so"
TEMPLATE = pathlib.Path(__file__).with_name("template.py")
# The interpreter under test is not always the one of the tests.
PYTHON = os.environ.get("BRIG_TEST_PYTHON", "/usr/bin/python3")
SLOW = int(os.environ.get("BRIG_TEST_SLOW", "1"))

PRELOAD = """json re math datetime collections itertools functools random statistics decimal uuid
    tempfile ssl hashlib logging threading multiprocessing asyncio subprocess traceback secrets
    no_such_module""".split()
MODULES = "json re math random datetime collections tempfile logging no_such_module".split()
ENV = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}


class Outcome:
    """The visible results of a run."""

    def __init__(self, status, stdout, stderr, value, directory):
        self.status, self.stdout, self.stderr, self.value = status, stdout, stderr, value
        self.files = {
            str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
            for path in sorted(directory.rglob("*"))
        }

    def seen(self):
        """All of it, except for addresses of objects: those of no two interpreters are the same."""
        texts = [re.sub(rb"\b0x[0-9a-f]{8,}\b", b"0x...", it) for it in (self.stdout, self.stderr)]
        return self.status, *texts, self.files


class Directory:
    """Stands for /sandbox: each run finds it new, under the same name."""

    def __init__(self, path):
        self.path = path
        self.source = path / "code.py"

    def fill(self, text):
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir()
        self.source.write_bytes(text if isinstance(text, bytes) else text.encode())


def communicate(stdin, ends, data):
    """Feeds stdin and reads everything from the other ends, all at once."""
    found = [b""] * len(ends)

    def feed():
        with open(stdin, "wb", 0) as file:
            try:
                file.write(data)
            except BrokenPipeError:
                pass

    def read(number, fd):
        with open(fd, "rb") as file:
            found[number] = file.read()

    threads = [threading.Thread(target=feed)]
    threads += [threading.Thread(target=read, args=it) for it in enumerate(ends)]
    for thread in threads:
        thread.start()
    return threads, found


class Run:
    """A process that has been started with pipes for descriptors; join() waits for it."""

    def __init__(self, directory, stdin, pipes, start, wait):
        self.directory, self.wait = directory, wait
        theirs = [pipes[0][0], *(write for _, write in pipes[1:])]
        self.pid = start(theirs)
        for fd in theirs:
            os.close(fd)
        self.threads, self.found = communicate(pipes[0][1], [r for r, _ in pipes[1:]], stdin)

    def join(self):
        for thread in self.threads:
            thread.join(60 * SLOW)
            assert not thread.is_alive(), self.directory.source.read_text()
        status = self.wait(self.pid)
        status = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return Outcome(status, *self.found, *[b""] * (3 - len(self.found)), self.directory.path)


def pipes_for(count):
    return [os.pipe() for _ in range(count)]


def starter(words, directory, env):
    def start(fds):
        pid = os.fork()
        if pid == 0:
            try:
                high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in fds]
                for number, fd in enumerate(high):
                    os.dup2(fd, number)
                os.closerange(len(fds), 300)
                os.chdir(directory.path)
                for number in (signal.SIGPIPE, signal.SIGXFSZ):
                    signal.signal(number, signal.SIG_DFL)
                os.execve(words[0], words, env)
            finally:
                os._exit(99)
        return pid

    return start


def wait_for(pid):
    return os.waitpid(pid, 0)[1]


def execute(words, directory, env, stdin, valued):
    """Runs an interpreter; the value's pipe is its descriptor 3."""
    start = starter(words, directory, env)
    return Run(directory, stdin, pipes_for(3 + valued), start, wait_for).join()


def plain(directory, args=(), env=ENV, stdin=b""):
    return execute([PYTHON, directory.source, *args], directory, env, stdin, False)


def cold(directory, args=(), env=ENV, stdin=b""):
    return execute([PYTHON, DRIVER, directory.source, *args], directory, env, stdin, True)


def send_order(channel, words, env):
    texts = [os.fsencode(word) for word in words]
    texts += [os.fsencode("%s=%s" % pair) for pair in env.items()]
    channel.sendall(b"%d\n" % len(words) + b"".join(it + b"\0" for it in texts))
    channel.close()


def waiting(directory, args=(), env=ENV, stdin=b"", early=ENV):
    """As brig's agent does it: see src/agent/waiting.c."""
    source = directory.source.read_bytes()
    words = [PYTHON, directory.source]
    script = b"WAITING = %s\n" % repr(MODULES).encode() + DRIVER.read_bytes()

    def start(fds):
        ours, theirs = socket.socketpair()
        directory.source.write_bytes(script)
        pid = starter(words, directory, early)([*fds, theirs.fileno()])
        theirs.close()
        assert ours.recv(1) == b"w"
        directory.source.unlink()
        directory.source.write_bytes(source)
        send_order(ours, [*words, *args], env)
        return pid

    return Run(directory, stdin, pipes_for(3), start, wait_for).join()


class Template:
    def __init__(self, modules, *options, env=ENV, prefix=()):
        if not EXTENSION.exists() or EXTENSION.stat().st_size == 0:
            pytest.skip("this build has no templates")
        requests, answers = os.pipe(), os.pipe()
        self.requests, self.answers = open(requests[1], "wb", 0), open(answers[0], "rb")
        words = [PYTHON, "-c", TEMPLATE.read_text(), DRIVER, EXTENSION, str(requests[0])]
        words.append(str(answers[1]))
        self.process = subprocess.Popen(
            [*prefix, *words, *options, *modules],
            env=env, cwd="/", stdin=-1, stdout=-1, stderr=-1, pass_fds=[requests[0], answers[1]],
        )
        os.close(requests[0])
        os.close(answers[1])

    def ask(self, *request):
        self.requests.write(repr(request).encode() + b"\n")
        answer = self.answers.readline()
        assert answer, self.process.communicate()
        return int(answer)

    def begin(self, directory, args=(), env=ENV, stdin=b"", valued=True):
        argv = [os.fsencode(word) for word in (PYTHON, directory.source, *args)]
        entries = [os.fsencode("%s=%s" % pair) for pair in env.items()]

        def start(fds):
            return self.ask("run", os.getpid(), fds, argv, entries, str(directory.path))

        pipes = pipes_for(3 + valued)
        return Run(directory, stdin, pipes, start, lambda pid: self.ask("wait", pid))

    def run(self, directory, args=(), env=ENV, stdin=b"", valued=True):
        return self.begin(directory, args, env, stdin, valued).join()

    def close(self):
        self.requests.close()
        self.answers.close()
        said = self.process.communicate()
        return self.process.returncode, *said


@pytest.fixture(scope="session")
def template():
    it = Template(PRELOAD)
    yield it
    assert it.close() == (0, b"", b"")


@pytest.fixture
def sandbox(tmp_path):
    return Directory(tmp_path / "sandbox")


def directives(text):
    """Comments of a program that set how to run it: args, stdin, env, value, as JSON."""
    found = {}
    for line in text.decode("latin-1").splitlines():
        word, _, rest = line.partition(": ")
        if word in ("# args", "# stdin", "# env", "# value"):
            found[word[2:]] = rest if rest == "absent" else json.loads(rest)
    return found
