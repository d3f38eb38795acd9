import sys
import traceback


def hook(kind, value, trace):
    print("hook:", kind.__name__, value, trace.tb_lineno, trace.tb_frame.f_code.co_name)
    traceback.print_exception(kind, value, trace)


sys.excepthook = hook


def f():
    raise KeyError("k")


f()
