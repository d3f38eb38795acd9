# SPDX-License-Identifier: Apache-2.0
"""A session that loads data once, answers questions about it, and returns a picture.

    PYTHONPATH=clients/python python3 examples/data_session.py [DIRECTORY]

The picture is written to DIRECTORY/out/plot.png. With matplotlib in the cell it is a plot; without,
it is painted with nothing but zlib.
"""

import math
import sys

import brig

LOAD = """
import csv, statistics
with open("weather.csv") as file:
    days = [{"day": int(row["day"]), "celsius": float(row["celsius"])}
            for row in csv.DictReader(file)]
len(days)
"""

# Questions of a user, step by step. `days` is kept between them.
QUESTIONS = {
    "warmest day": "max(days, key=lambda day: day['celsius'])['day']",
    "mean": "round(statistics.mean(day['celsius'] for day in days), 1)",
    "days with frost": "sum(day['celsius'] < 0 for day in days)",
}

PLOT = """
import os
values = [day["celsius"] for day in days]
os.makedirs("out", exist_ok=True)
try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    pyplot.plot(values)
    pyplot.savefig("out/plot.png")
except ImportError:
    import struct, zlib
    width, height, low, high = len(values), 120, min(values), max(values)
    tops = [round((value - low) / (high - low) * (height - 1)) for value in values]
    # One byte for each pixel, 0 in front of each line: no filter.
    lines = [b"\\0" + bytes(40 if tops[x] >= height - 1 - y else 250 for x in range(width))
             for y in range(height)]
    def chunk(name, data):
        check = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + check
    with open("out/plot.png", "wb") as file:
        file.write(b"\\x89PNG\\r\\n\\x1a\\n"
                   + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(b"".join(lines))) + chunk(b"IEND", b""))
"""


def weather():
    """Made-up temperatures of a year."""
    rows = [f"{day},{10 - 12 * math.cos(day / 58):.1f}" for day in range(1, 366)]
    return "\n".join(["day,celsius", *rows]) + "\n"


def main(directory):
    # A service for this script only; for a running one use brig.Client().
    with brig.Server() as client, client.session("python", timeout=20) as session:
        session.put("weather.csv", weather())
        print("rows:", session.run(LOAD).value)
        for question, code in QUESTIONS.items():
            print(f"{question}:", session.run(code).value)
        result = session.run(PLOT)
        if not result.ok:
            print(brig.printable(result.text))
            return 1
        for path in result.save_files(directory, overwrite=True):
            print("saved", path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1] if len(sys.argv) > 1 else "."))
