import sys


library = sys.modules["os"].__file__[: -len("os.py")]


def tracer(frame, event, arg):
    if event == "call" and not frame.f_code.co_filename.startswith((library, "<frozen")):
        out.write(frame.f_code.co_filename + "\n")


class Late:
    def __del__(self):
        print("traced")


late = Late()
out = open("trace.txt", "w", buffering=1)
sys.settrace(tracer)
