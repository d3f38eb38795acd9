import signal

for number in sorted(signal.valid_signals()):
    handler = signal.getsignal(number)
    if handler is not signal.SIG_DFL:
        print(int(number), handler)
print(signal.pthread_sigmask(signal.SIG_BLOCK, ()), signal.getitimer(signal.ITIMER_REAL))
