def mean(numbers):
    assert len(numbers) > 0, "no numbers"
    return sum(numbers) / len(numbers)


print(mean([1, 2, 3]))
print(mean([]))
