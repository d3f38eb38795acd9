import sys

del sys.excepthook
raise ValueError("printed all the same")
