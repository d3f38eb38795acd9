import atexit
import threading
import time


def work():
    time.sleep(0.2)
    print("the thread ends after the traceback", flush=True)


atexit.register(print, "atexit")
threading.Thread(target=work).start()
raise ValueError("first")
