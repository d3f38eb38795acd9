import queue
import threading

jobs, results = queue.Queue(), queue.Queue()


def worker():
    while True:
        job = jobs.get()
        if job is None:
            return
        results.put(job * 2)


threads = [threading.Thread(target=worker) for _ in range(4)]
for thread in threads:
    thread.start()
for n in range(100):
    jobs.put(n)
for thread in threads:
    jobs.put(None)
for thread in threads:
    thread.join()
print(sum(results.get() for _ in range(100)))
