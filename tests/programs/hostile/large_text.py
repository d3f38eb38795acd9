# Attacks readers of a whole result: 60 MB of text, quotes and escapes among it.
import os

piece = ('"quoted" \\ and\ttext ' * 5000).encode()[:100000]
for _ in range(600):
    os.write(1, piece)
