try:
    raise ExceptionGroup("several", [ValueError(1), TypeError(2), OSError(3)])
except* ValueError as group:
    print("handled", group.exceptions)
