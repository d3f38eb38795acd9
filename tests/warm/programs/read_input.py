# stdin: "Ada\n42\n"
name = input("Name: ")
age = int(input())
print(f"{name} is {age}")
try:
    input()
except EOFError as error:
    print(error)
