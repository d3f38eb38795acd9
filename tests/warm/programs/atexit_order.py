import atexit

atexit.register(print, "first registered, last run")
atexit.register(print, "second")


@atexit.register
def fail():
    print("about to fail")
    1 / 0


print("end of the program")
