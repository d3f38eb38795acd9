import os
import signal


def heard(number, frame):
    print("heard", signal.Signals(number).name, frame.f_code.co_name)


signal.signal(signal.SIGUSR1, heard)
os.kill(os.getpid(), signal.SIGUSR1)
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler,
      signal.getsignal(signal.SIGPIPE), signal.getsignal(signal.SIGTERM),
      signal.pthread_sigmask(signal.SIG_BLOCK, []))
os.kill(os.getpid(), signal.SIGKILL)
