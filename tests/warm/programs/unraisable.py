import sys

sys.unraisablehook = lambda args: print("unraisable", args.exc_type.__name__)


class Bad:
    def __del__(self):
        1 / 0


Bad()
print("on")
