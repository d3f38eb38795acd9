import sys


def depth(n=1):
    try:
        return depth(n + 1)
    except RecursionError:
        return n


print(sys.getrecursionlimit(), depth())
sys.setrecursionlimit(2500)
print(depth())
