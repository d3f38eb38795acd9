import sys


def down(depth):
    return down(depth + 1)


print(sys.getrecursionlimit())
try:
    down(0)
except RecursionError as problem:
    print(type(problem).__name__, problem)
