"\udc80".encode()
