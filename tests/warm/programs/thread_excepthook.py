import threading


def hook(args):
    print("hook", args.exc_type.__name__, args.thread.name)


threading.excepthook = hook
thread = threading.Thread(target=lambda: 1 / 0, name="failing")
thread.start()
thread.join()
