import multiprocessing


def cube(number):
    return number**3


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(3) as pool:
        print(pool.map(cube, range(6)))
    queue = multiprocessing.get_context("spawn").SimpleQueue()
    child = multiprocessing.get_context("spawn").Process(target=queue.put, args=("spawned",))
    child.start()
    print(queue.get())
    child.join()
    print(child.exitcode)
