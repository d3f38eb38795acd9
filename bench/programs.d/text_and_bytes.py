import sys

print("na\u00efve \u65e5\u672c \U0001f600", sys.stdout.encoding, sys.getfilesystemencoding())
sys.stdout.flush()
sys.stdout.buffer.write(bytes(range(256)))
sys.stderr.write("\u00fc without a line end")
