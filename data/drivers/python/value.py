# SPDX-License-Identifier: Apache-2.0
# The program's value: as JSON, and where it goes.

VALUE_BYTES = 64 * 1024
VALUE_DEPTH = 64


class NoValue(Exception):
    pass


def encode_string(text):
    global encode_string
    # Not `json`: the program may have a file of that name.
    from _json import encode_basestring as encode_string

    return encode_string(text)


def encode(value, out, room, depth=0):
    """Appends the JSON text of a value to `out`; returns the number of characters still free."""
    if isinstance(value, getattr(sys.modules.get("numpy"), "generic", ())):
        value = value.item()
    if value is None or value is True or value is False:
        text = {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, str) and len(value) <= room:
        text = encode_string(value)
    elif isinstance(value, int) and value.bit_length() <= 4 * room:
        text = int.__repr__(value)
    elif isinstance(value, float) and value - value == 0:
        text = float.__repr__(value)
    elif isinstance(value, (dict, list, tuple)) and depth < VALUE_DEPTH:
        pairs = isinstance(value, dict)
        text, mark = ("{}", "{") if pairs else ("[]", "[")
        for item in value.items() if pairs else value:
            out.append(mark)
            if pairs:
                key, item = item
                if not isinstance(key, str):
                    raise NoValue
                room = encode(key, out, room, depth + 1)
                out.append(":")
            room = encode(item, out, room - 2, depth + 1)
            text, mark = "}" if pairs else "]", ","
    else:
        raise NoValue
    out.append(text)
    if len(text) > room:
        raise NoValue
    return room - len(text)


REPR_MARK, REPR_CHARS = "r", 4000  # of a value that JSON has nothing like: src/lib/guard/value.h


def encode_repr(value):
    """How the value shows itself, as far as there is room for it; nothing, if it does not."""
    try:
        text = str.__str__(repr(value))
        if len(text) > REPR_CHARS:
            text = text[: REPR_CHARS - 3] + "..."
        return REPR_MARK + encode_string(text.encode("utf-8", "backslashreplace").decode())
    except BaseException:
        return ""


def encode_value(value):
    out = []
    try:
        encode(value, out, VALUE_BYTES)
        data = "".join(out).encode()
        if len(data) <= VALUE_BYTES:
            return data
    except BaseException:
        pass
    return encode_repr(value).encode()


class ValuePipe:
    """Where the value goes. It keeps out of the way of the program and of what that starts."""

    def __init__(self, fd):
        self.pid, self.fd = os.getpid(), fd
        self.room = None  # where the value goes instead, if the file is sealed
        self.file = self.identity()

    def move(self):
        fd = self.fd
        high = min(os.sysconf("SC_OPEN_MAX"), HIGH_FD + 1) - 1
        try:
            os.fstat(high)
        except OSError:
            if fd < high:
                self.fd = os.dup2(fd, high, inheritable=False)
                os.close(fd)
        os.set_inheritable(self.fd, False)

    def identity(self):
        status = os.fstat(self.fd)
        return status.st_dev, status.st_ino

    def send(self, value):
        # Forked copies of the program get here as well; and it may have closed everything, and
        # opened a file that has this number now.
        if value is None or os.getpid() != self.pid:
            return
        if self.room is None and self.identity() != self.file:
            return
        data = encode_value(value)
        if self.room is not None:
            self.room[: len(data)] = data
        elif data:
            while data:
                data = data[os.write(self.fd, data) :]
            os.close(self.fd)
