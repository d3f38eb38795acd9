with open("broken.py", "w") as file:
    file.write("def f():\n    return 1\n\nf() / 0\n")
import broken
