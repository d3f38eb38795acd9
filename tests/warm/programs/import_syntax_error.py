with open("broken.py", "w") as file:
    file.write("x = 1\nif x\n    y = 2\n")
import broken
