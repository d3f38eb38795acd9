import sys


def hook(*args):
    sys.exit(42)


sys.excepthook = hook
1 / 0
