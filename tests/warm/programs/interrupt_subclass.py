class Mine(KeyboardInterrupt):
    pass


raise Mine("ends with status 1")
