import os
import signal


def handler(number, frame):
    print("got", number, frame.f_code.co_name)
    raise RuntimeError("from a handler")


signal.signal(signal.SIGUSR1, handler)
os.kill(os.getpid(), signal.SIGUSR1)
