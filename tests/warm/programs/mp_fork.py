import multiprocessing


def work(n):
    return n * n, multiprocessing.current_process().name != "MainProcess"


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        print(pool.map(work, range(5)))
    queue = context.Queue()
    process = context.Process(target=queue.put, args=("from the child",))
    process.start()
    print(queue.get(), process.name)
    process.join()
    print(process.exitcode)
