import sys


def a():
    b()


def b():
    raise ValueError("x")


sys.tracebacklimit = 1
a()
