import inspect
import sys
import traceback
import warnings


def inner():
    print([frame.function for frame in inspect.stack()])
    traceback.print_stack()
    warnings.warn("above the module", stacklevel=3)


print(sys._getframe().f_back, sys._getframe().f_code.co_name, sys.exc_info())
inner()
warnings.warn("here")
warnings.warn("above", stacklevel=2)
try:
    sys._getframe(1)
except ValueError as error:
    print(error)
