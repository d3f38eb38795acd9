import threading
import time


def work():
    time.sleep(0.2)
    print("the thread ends after the program")


threading.Thread(target=work).start()
print("end of the program")
