import atexit
import os
import signal


class Late:
    def __del__(self):
        print("finalized")


late = Late()
atexit.register(print, "atexit")
print("signal to myself")
os.kill(os.getpid(), signal.SIGINT)
while True:
    pass
