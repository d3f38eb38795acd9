import multiprocessing
import os


def work(connection):
    name = multiprocessing.current_process().name
    connection.send([__name__, os.path.basename(os.getcwd()), name])


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs,))
    process.start()
    print(ours.recv())
    process.join()
    print(process.exitcode)
