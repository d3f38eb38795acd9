import threading


def work(n):
    if n == 1:
        raise ValueError("in a thread")
    print("worked", n)


for n in range(3):
    thread = threading.Thread(target=work, args=(n,))
    thread.start()
    thread.join()
    print(thread.name)
