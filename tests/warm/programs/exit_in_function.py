import sys


def f(n):
    try:
        if n == 0:
            sys.exit(11)
        f(n - 1)
    finally:
        print("finally", n)


f(3)
