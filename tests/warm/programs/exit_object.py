import sys


class Thing:
    def __str__(self):
        return "a thing"


sys.exit(Thing())
