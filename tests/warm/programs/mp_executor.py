from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import multiprocessing


def cube(n):
    return n**3


if __name__ == "__main__":
    with ThreadPoolExecutor(3) as pool:
        print(list(pool.map(cube, range(6))))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        print(list(pool.map(cube, range(6))))
        try:
            pool.submit(divmod, 1, 0).result()
        except ZeroDivisionError as error:
            print(repr(error))
