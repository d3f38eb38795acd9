error = ValueError("noted")
if hasattr(error, "add_note"):
    error.add_note("first note\nof two lines")
raise error
