import multiprocessing


def fail():
    raise ValueError("in a child")


context = multiprocessing.get_context("fork")
process = context.Process(target=fail)
process.start()
process.join()
print(process.exitcode)
