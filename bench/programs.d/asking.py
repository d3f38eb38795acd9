name = input("name? ")
numbers = [int(word) for word in input().split()]
print(f"hello {name}, {sum(numbers)}")
try:
    input()
except EOFError as problem:
    print(type(problem).__name__, problem)
