# SPDX-License-Identifier: Apache-2.0
# The memory file of a guarded program, which the warden reads. It has three parts: the guard's
# report before the program runs, the value, and the rule and line by which the program ended.
#
# When the program may run, the file is sealed against all writing except by existing mappings:
# those of the last two parts. A mapping can be moved and made longer, but not begin earlier in its
# file. So the first part cannot be changed any more.
GUARD_ADD_SEALS, GUARD_SEAL_SEAL, GUARD_SEAL_WRITE, GUARD_SEAL_FUTURE = 1033, 1, 8, 16
GUARD_VALUE_BYTES, GUARD_END_BYTES = 64 * 1024, 4096


class GuardReport:
    def __init__(self, pipe):
        # Now: later modules may be imported from the program's directory.
        import fcntl

        self.pipe, self.fd, self.fcntl = pipe, pipe.fd, fcntl.fcntl
        if not native:
            known = "mmap" in sys.modules
            import mmap

            self.mmap = mmap.mmap
            if not known:
                del sys.modules["mmap"]

    def write(self, data):
        os.pwrite(self.fd, data + b"\0", 0)

    def seal(self, seals):
        self.fcntl(self.fd, GUARD_ADD_SEALS, seals | GUARD_SEAL_SEAL)

    def refuse(self, data):
        """Seals it permanently: the reader can verify that no program has written it."""
        self.write(data)
        self.seal(GUARD_SEAL_WRITE)

    def let_run(self, data):
        self.write(data)
        self.pipe.room = self.map()
        self.seal(GUARD_SEAL_FUTURE)

    def map(self):
        size = GUARD_VALUE_BYTES + GUARD_END_BYTES
        if native:
            return native.map(self.fd, GUARD_RECORD_BYTES, size)
        # The module keeps a copy of the descriptor, as low as it can: not among the program's own.
        copies = [os.dup(self.fd)]
        while copies[-1] < self.fd - 1:
            copies.append(os.dup(self.fd))
        os.close(copies.pop())
        try:
            return self.mmap(self.fd, size, offset=GUARD_RECORD_BYTES)
        finally:
            for copy in copies:
                os.close(copy)

    def end(self, text):
        data = text.encode() + b"\0"
        self.pipe.room[GUARD_VALUE_BYTES : GUARD_VALUE_BYTES + len(data)] = data
