class Stop(BaseException):
    pass


raise Stop("neither an error nor an exit")
