"""A small ledger: sqlite, threads, processes, asyncio and files of the standard library."""

import asyncio
import collections
import concurrent.futures
import csv
import ctypes
import datetime
import decimal
import hashlib
import json
import multiprocessing
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import threading
import zipfile
import zlib
import zoneinfo


def square(number):
    return number * number


def database():
    connection = sqlite3.connect(":memory:")
    connection.execute("create table entry (day text, cents integer)")
    rows = [(f"2024-01-{day:02}", day * 125) for day in range(1, 11)]
    connection.executemany("insert into entry values (?, ?)", rows)
    total, most = connection.execute("select sum(cents), max(cents) from entry").fetchone()
    print("sqlite", total, decimal.Decimal(most) / 100)


def threads():
    lock = threading.Lock()
    counts = collections.Counter()

    def work(name):
        for _ in range(1000):
            with lock:
                counts[name % 2] += 1

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print("threads", sorted(counts.items()))
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        print("pool", list(pool.map(square, range(6))))


def processes():
    with multiprocessing.Pool(2) as pool:
        print("multiprocessing", sum(pool.map(square, range(100))))
    child = subprocess.run(
        [sys.executable, "-c", "import sys; print(sys.stdin.read().upper(), end='')"],
        input="from a child\n", capture_output=True, text=True, check=True)
    print("subprocess", child.stdout.strip())
    print("shell", os.popen("echo $((6 * 7))").read().strip())


async def events():
    queue = asyncio.Queue()

    async def producer():
        for item in range(5):
            await asyncio.sleep(0.001)
            await queue.put(item)
        await queue.put(None)

    async def consumer():
        taken = []
        while (item := await queue.get()) is not None:
            taken.append(item)
        return taken

    _, taken = await asyncio.gather(producer(), consumer())
    print("asyncio", taken)


def files():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "table.csv")
        with path.open("w", newline="") as stream:
            csv.writer(stream).writerows([["name", "value"], ["größe", "3"]])
        archive = pathlib.Path(folder, "table.zip")
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as stream:
            stream.write(path, "table.csv")
        with zipfile.ZipFile(archive) as stream:
            text = stream.read("table.csv")
    print("files", hashlib.sha256(text).hexdigest()[:16], zlib.crc32(text))
    pathlib.Path("out").mkdir(exist_ok=True)
    pathlib.Path("out/report.json").write_text(json.dumps({"rows": 2}))
    print("json", json.loads(pathlib.Path("out/report.json").read_text()))


def main():
    database()
    threads()
    processes()
    asyncio.run(events())
    files()
    noon = datetime.datetime(2024, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
    print("zone", noon.utcoffset())
    print("ctypes", ctypes.CDLL(None).abs(-5))


if __name__ == "__main__":
    main()
