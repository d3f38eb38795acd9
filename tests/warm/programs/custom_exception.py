class Problem(Exception):
    def __init__(self, code, **details):
        super().__init__(code, details)
        self.code = code

    def __str__(self):
        return f"problem {self.code}"


class Worse(Problem):
    pass


raise Worse(7, a=1)
