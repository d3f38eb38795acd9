# Attacks readers of a whole result: a file of 45 MB comes back with it, 60 MB in base64.
import os

os.makedirs("out", exist_ok=True)
with open("out/large", "wb") as file:
    piece = bytes(range(256)) * 4096
    for _ in range(45):
        file.write(piece)
