from __future__ import annotations, division
import __future__
import sys


class A:
    x: undefined_name


print(A.__annotations__, sys._getframe().f_code.co_flags & __future__.annotations.compiler_flag > 0)
exec("y: also_undefined = 1")
