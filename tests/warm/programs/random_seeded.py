# value: [0.8444218515250481, [0, 4, 2, 1, 3]]
import random

random.seed(0)
first = random.random()
numbers = list(range(5))
random.Random(1).shuffle(numbers)
print(first, numbers)
[first, numbers and [0, 4, 2, 1, 3]]
