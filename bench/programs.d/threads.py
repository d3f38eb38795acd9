import threading

total = 0
lock = threading.Lock()


def work(count):
    global total
    for _ in range(count):
        with lock:
            total += 1


workers = [threading.Thread(target=work, args=(1000,)) for _ in range(8)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(total, threading.active_count(), threading.current_thread() is threading.main_thread())
