numbers = [n * n for n in range(5)]
{"sum": sum(numbers), "numbers": numbers}
