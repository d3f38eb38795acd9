print(input("name? "))
print(input("again? "))
