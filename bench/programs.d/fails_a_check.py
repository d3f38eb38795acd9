def below_zero(operations):
    balance = 0
    for step in operations:
        balance += step
    return balance < 0


def check(candidate):
    assert candidate([]) is False
    assert candidate([1, 2, -4, 5]) is True, "it is below zero in the middle"


check(below_zero)
