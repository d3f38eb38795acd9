# SPDX-License-Identifier: Apache-2.0
# Checks a session's code, in a process of its own.
#
# The code controls the process that runs it: reports of that process about the guard cannot be
# trusted. So before the session's first run the driver forks. The checker keeps the channel to the
# warden; the other process, which runs the code, has only pipes to the checker. Each run arrives at
# the checker first, is checked there, and is passed on if it is allowed. So only the checker can
# report that code was refused; and refused code never reaches the process that runs code.
#
# The code shares a user and a cell with the checker. It can kill the checker, which ends the
# session. It cannot read or change it: the checker is not dumpable, has no directory of the code in
# its path, and has imported all that it needs.


def guard_hide():
    """Protects this process from others of its user: ptrace, /proc/PID/mem and similar."""
    if globals().get("native"):
        native.hide()
        return
    # There is no other way to call prctl(2). The whole of ctypes would make executable memory.
    import _ctypes

    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 2), "prctl")
    _ctypes.call_function(prctl, (4, 0, 0, 0, 0))  # PR_SET_DUMPABLE
    if _ctypes.call_function(prctl, (3, 0, 0, 0, 0)) != 0:  # PR_GET_DUMPABLE
        raise OSError("the checker is not hidden")


def guard_part(guard, fd):
    """Returns in the process that runs code, with the channel to the checker."""
    down, up = os.pipe(), os.pipe()
    middle = os.fork()
    if middle == 0:
        status = 1
        try:
            os.setsid()  # interrupts are for the code
            if os.fork() == 0:  # not its child: the code may wait for its own children
                os.close(down[0])
                os.close(up[1])
                GuardChecker(guard, SessionChannel(fd), SessionPipes(up[0], down[1])).serve()
            status = 0
        finally:
            os._exit(status)
    os.close(down[1])
    os.close(up[0])
    if os.waitpid(middle, 0)[1] != 0 or os.read(down[0], 1) != b"+":
        leave_refused("the guard's checker could not be started")
    return SessionPipes(down[0], up[1])


class GuardChecker:
    def __init__(self, guard, warden, runner):
        self.guard, self.warden, self.runner = guard, warden, runner

    def prepare(self):
        import _signal

        for number in _signal.valid_signals():
            if number not in (_signal.SIGKILL, _signal.SIGSTOP, _signal.SIGCHLD):
                _signal.signal(number, _signal.SIG_IGN)
        guard_json({"": guard_modules() and ""})  # imports what it needs
        guard_hide()
        usual = (sys.prefix, sys.base_prefix, "/usr/lib/", "/usr/local/lib/")
        sys.path[:] = [path for path in sys.path if path.startswith(usual)]
        null = os.open("/dev/null", os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        os.close(null)

    def serve(self):
        self.prepare()
        self.runner.send(b"+")
        while True:
            self.turn()

    def turn(self):
        head = self.warden.line()
        _, serial, code, data, args, _ = head.split(b" ")
        source = self.warden.bytes(int(code))
        rest = self.warden.bytes(int(data))
        words = [self.warden.text() for _ in range(int(args))]
        record = self.look(source, "<run-%d>" % int(serial))
        if record is not None:
            self.warden.send(b"refused %s 1 %d\n%s" % (serial, len(record), record))
            return
        self.runner.send(b"%s\n%s%s%s" % (head, source, rest,
                                          b"".join(it + b"\0" for it in words)))
        del source, rest, words
        self.relay(serial)

    def look(self, source, name):
        """Returns the record of a refusal; None: it may run."""
        try:
            self.guard.compile(self.guard.look(source, name), name)
        except GuardRefusal as refusal:
            return self.guard.record(refusal.record)
        except SyntaxError:
            return None  # the interpreter reports it itself, and runs nothing of it
        except BaseException:
            no = GuardRefusal("size", "the code cannot be looked at", "Simplify it.")
            return self.guard.record(no.record)
        return None

    def relay(self, serial):
        """Reads the response of the process that runs code, which cannot be trusted. Anything but
        the one expected response ends the session.
        """
        word, number, status, size = self.runner.line(GUARD_ANSWER_BYTES).split(b" ")
        if word not in (b"done", b"stopped") or number != serial:
            raise ValueError
        status, size = int(status), int(size)
        if not 0 <= status <= 255 or not 0 <= size <= GUARD_VALUE_BYTES:
            raise ValueError
        data = self.runner.bytes(size)
        if word == b"stopped":
            data = self.guard.record(end=data[:GUARD_ANSWER_BYTES].decode("ascii", "replace"))
        self.warden.send(b"%s %s %d %d\n%s" % (word, serial, status, len(data), data))


GUARD_ANSWER_BYTES = 64
