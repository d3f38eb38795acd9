# SPDX-License-Identifier: Apache-2.0
# The interpreter of a session: runs the code that arrives by descriptor 3, one piece after the
# other, in one namespace. The protocol: src/lib/session/session_channel.h.
#
# It is used in two ways: as a script, and as the first part of a template's driver (python/*.py
# follow), whose clones call serve_session(). The code has full control over this process: there are
# no secrets here.
import os
import sys

SESSION_PATH = "/etc/brig/session.py"
SESSION_FD = 3
SESSION_HIGH_FD = 255
SESSION_VALUE_BYTES = 64 * 1024
SESSION_REPR_CHARS = 4000  # of a value that is not JSON: src/lib/guard/value.h
SESSION_SOURCES = 200  # whose lines tracebacks can show


def session_move(fd, below=0):
    """Moves a descriptor above those of the program and of its children."""
    high = min(os.sysconf("SC_OPEN_MAX"), SESSION_HIGH_FD + 1) - 1 - below
    if fd >= high:
        return fd
    moved = os.dup2(fd, high, inheritable=False)
    os.close(fd)
    return moved


class SessionChannel:
    def __init__(self, fd):
        self.fd = self.out = session_move(fd)
        self.data = b""

    def fill(self):
        more = os.read(self.fd, 1 << 16)
        if not more:
            os._exit(0)  # the warden has gone: there will be no more requests
        self.data += more

    def line(self, most=1 << 16):
        while b"\n" not in self.data[:most]:
            if len(self.data) >= most:
                os._exit(0)
            self.fill()
        line, _, self.data = self.data.partition(b"\n")
        return line

    def bytes(self, size):
        parts, have = [self.data], len(self.data)
        while have < size:
            part = os.read(self.fd, min(size - have, 1 << 20))
            if not part:
                os._exit(0)
            parts.append(part)
            have += len(part)
        data = b"".join(parts)
        self.data = data[size:]
        return data[:size]

    def text(self):
        while b"\0" not in self.data:
            self.fill()
        text, _, self.data = self.data.partition(b"\0")
        return text

    def waiting(self, select):
        return bool(self.data or select([self.fd], [], [], 0)[0])

    def send(self, data):
        data = memoryview(data)
        while data:
            data = data[os.write(self.out, data) :]


class SessionPipes(SessionChannel):
    """The same for a channel between two processes of a session."""

    def __init__(self, fd, out):
        self.fd, self.out = session_move(fd, 1), session_move(out, 2)
        self.data = b""


def session_input(data):
    """Makes these bytes the standard input, by number and by name."""
    if not data:
        fd = os.open("/dev/null", os.O_RDONLY)
    else:
        try:
            fd = os.memfd_create("stdin")
        except (OSError, AttributeError):
            fd = os.open("/tmp", os.O_TMPFILE | os.O_RDWR, 0o600)
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
    os.dup2(fd, 0)
    os.close(fd)
    sys.stdin = sys.__stdin__ = open(0, "r", errors="surrogateescape", closefd=False)


def session_traces():
    import linecache
    import traceback

    return linecache, traceback


class Session:
    def __init__(self, channel, guard=None):
        import _ast
        import _signal
        import gc
        import json
        import select

        self.ast, self.signal, self.dumps, self.gc = _ast, _signal, json.dumps, gc
        self.select = select.select
        # With a guard of imports, those of this file are checked as well once a program has begun.
        self.traces = session_traces() if guard and guard.mode == "imports" else None
        self.channel = channel
        self.running = self.reading = self.pending = False
        self.sources = {}
        self.guard = guard
        self.main = type(sys)("__main__")
        self.main.__builtins__ = sys.modules["builtins"]
        sys.modules["__main__"] = self.main
        sys.argv[:] = [""]
        if "" not in sys.path:
            sys.path[0:1] = [""]

    def on_interrupt(self, number, frame):
        if self.running:
            raise KeyboardInterrupt
        # For a run that is about to arrive; or for one that has just ended: too late.
        self.pending = self.reading or self.channel.waiting(self.select)

    def compile(self, source, name):
        """Statements, and the expression at their end; either may be None."""
        build = self.guard.compile if self.guard else session_compile
        tree = self.guard.look(source, name) if self.guard else session_parse(source, name)
        last = None
        if tree.body and type(tree.body[-1]) is self.ast.Expr:
            last = build(self.ast.Expression(tree.body.pop().value), name, "eval")
        return build(tree, name, "exec") if tree.body else None, last

    def remember(self, name, source):
        """Keeps the source for tracebacks and inspect."""
        text = source.decode("utf-8", "replace")
        self.sources[name] = (len(text), None, text.splitlines(True), name)
        while len(self.sources) > SESSION_SOURCES:
            del self.sources[next(iter(self.sources))]
        if "linecache" in sys.modules:
            sys.modules["linecache"].cache.update(self.sources)

    def trim(self, trace):
        """Removes the frame of on_interrupt()."""
        while trace and trace.tb_next:
            if trace.tb_next.tb_frame.f_globals is globals():
                trace.tb_next = None
            trace = trace.tb_next

    def report(self, error):
        """Handles an uncaught exception as an interpreter does; returns the run's status."""
        if isinstance(error, SystemExit):
            code = error.code
            if code is None or isinstance(code, int):
                return (code or 0) & 255
            print(code, file=sys.stderr)
            return 1
        trace = error.__traceback__
        while trace and trace.tb_frame.f_globals is globals():
            trace = trace.tb_next
        self.trim(trace)
        error.__traceback__ = trace
        if not self.guard:  # nothing of a guarded program is kept: see hold()
            sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
        if getattr(sys, "excepthook", None) is not sys.__excepthook__:
            sys.excepthook(type(error), error, trace)
        else:
            linecache, traceback = self.traces or session_traces()
            linecache.cache.update(self.sources)
            traceback.print_exception(type(error), error, trace)
        return 130 if isinstance(error, KeyboardInterrupt) else 1

    def execute(self, source, name):
        """Returns status, value, and the rule by which the guard has stopped it, if it has."""
        value, status, stopped = None, 0, b""
        try:
            body, last = self.compile(source, name)
            if self.guard:
                self.guard.begin(name, self.main)
                self.gc.enable()
            self.running = True
            if self.pending:
                self.on_interrupt(0, None)
            space = vars(self.main)
            if body:
                exec(body, space)
            if last:
                value = eval(last, space)
            self.running = False
        except BaseException as error:
            self.running = False
            if self.guard:
                if isinstance(error, GuardRefusal):
                    # The checker has seen other content: a file that has changed since.
                    print("refused:", error, file=sys.stderr)
                    return 1, None, ("%(rule)s %(line)d" % error.record).encode()
                stopped = (self.guard.stopped(error) or "").encode()
                guard_trim(error)
            value, status = None, self.report(error)
        return status, value, stopped

    def hold(self):
        """From here to the next program the guard's hook allows everything: no code of a program
        may run meanwhile, not even a destructor of its garbage.
        """
        if self.guard:
            self.gc.disable()
            self.guard.rest(True)

    def encode(self, value):
        if value is None:
            return b""
        try:
            data = self.dumps(value, ensure_ascii=False, allow_nan=False).encode()
            if len(data) <= SESSION_VALUE_BYTES:
                return data
        except BaseException:
            pass  # it cannot be written as JSON
        return self.encode_repr(value)

    def encode_repr(self, value):
        """Returns the representation of the value, up to the limit."""
        try:
            text = str.__str__(repr(value))
            if len(text) > SESSION_REPR_CHARS:
                text = text[: SESSION_REPR_CHARS - 3] + "..."
            return b"r" + self.dumps(text.encode("utf-8", "backslashreplace").decode()).encode()
        except BaseException:
            return b""

    def flush(self):
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()
            except BaseException:
                pass

    def read(self):
        line = self.channel.line()
        self.reading = True
        word, serial, code, data, args, valued = line.split(b" ")
        source = self.channel.bytes(int(code))
        session_input(self.channel.bytes(int(data)))
        sys.argv[:] = [""] + [os.fsdecode(self.channel.text()) for _ in range(int(args))]
        return int(serial), source, valued == b"1"

    def turn(self):
        self.pending = self.reading = False
        serial, source, valued = self.read()
        # A run may have set another handler, or none.
        self.signal.signal(self.signal.SIGINT, self.on_interrupt)
        self.signal.pthread_sigmask(self.signal.SIG_UNBLOCK, [self.signal.SIGINT])
        name = f"<run-{serial}>"
        self.remember(name, source)
        status, stopped, data = 1, b"", b""
        try:
            status, value, stopped = self.execute(source, name)
            data = stopped or (self.encode(value) if valued else b"")
            del value
        except BaseException as error:  # while it was reported
            self.running = False
            if not isinstance(error, KeyboardInterrupt):
                os.write(2, b"the error could not be reported\n")
        self.flush()
        self.hold()
        word = b"stopped" if stopped else b"done"
        self.channel.send(b"%s %d %d %d\n%s" % (word, serial, status, len(data), data))

    def serve(self, warden):
        self.signal.signal(self.signal.SIGINT, self.on_interrupt)
        # It tells the warden which process to interrupt.
        os.write(warden, b"ready\n")
        if warden != self.channel.fd:
            os.close(warden)
        while True:
            self.turn()


def session_parse(source, name):
    return compile(source, name, "exec", 0x400, True)


def session_compile(tree, name, how):
    return compile(tree, name, how, 0, True)


def serve_session(fd, words=()):
    """With an assignment for the guard, the texts of data/guard come before this one."""
    if not words:
        channel = SessionChannel(fd)
        Session(channel).serve(channel.fd)
    guard = Guard(words[1], os.path.realpath(os.getcwd()))
    Session(guard_part(guard, fd), guard).serve(fd)


if __name__ == "__main__":
    serve_session(SESSION_FD, sys.argv[1:])
