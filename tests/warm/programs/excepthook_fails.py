import sys


def helper():
    raise RuntimeError("the hook itself")


def hook(*args):
    helper()


sys.excepthook = hook
1 / 0
