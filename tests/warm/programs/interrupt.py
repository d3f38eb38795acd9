print("interrupted")
raise KeyboardInterrupt
