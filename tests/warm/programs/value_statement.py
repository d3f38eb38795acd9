# value: [8, null]
import sys

result = 1
try:
    import no_such_module
except ImportError:
    result = [sys._getframe().f_lineno, sys._getframe().f_back]
finally:
    print(result)
