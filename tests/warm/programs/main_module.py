import __main__
import sys

here = 1
print(__main__.here, sys.modules["__main__"] is __main__, __main__)
print(vars(__main__) is globals())
