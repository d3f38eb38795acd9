# As many functions as before, but others.
import atexit
import logging

file = open("left.txt", "w")
file.write("not flushed yet")
atexit.unregister(logging.shutdown)
atexit.register(lambda: file.write(", then more"))
