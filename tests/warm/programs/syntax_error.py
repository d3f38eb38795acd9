def greet(name):
    print("hello"
    return name
