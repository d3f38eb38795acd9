import sys


def tracer(frame, event, arg):
    print(event, frame.f_lineno)
    return tracer


sys._getframe().f_trace = tracer
sys.settrace(tracer)
x = 1
x += 1
sys.settrace(None)
print(x)
