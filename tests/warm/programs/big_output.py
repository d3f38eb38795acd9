for i in range(20000):
    print(i, "some text to fill the pipe and the buffers")
