import os
import signal

print("lost", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
