import sys

seen = []


def watch(frame, event, arg):
    if event == "call":
        seen.append(frame.f_code.co_name)


def f():
    return 1


sys.setprofile(watch)
f()
sys.setprofile(None)
print(seen)
