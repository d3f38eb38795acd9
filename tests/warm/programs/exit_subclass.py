class Leave(SystemExit):
    def __init__(self, a, b):
        super().__init__(a)
        self.code = a * b


raise Leave(6, 7)
