import os

os.unlink(__file__)
raise ValueError("no line can be shown")
