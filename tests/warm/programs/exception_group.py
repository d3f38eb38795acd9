raise ExceptionGroup("outer", [ValueError("one"), ExceptionGroup("inner", [KeyError("two")])])
