import sys
import threading  # how python 3.12 ends, with an error left over, depends on it


class Thing:
    def __str__(self):
        raise ValueError


sys.exit(Thing())
