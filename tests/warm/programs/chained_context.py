try:
    {}["missing"]
except KeyError:
    try:
        1 / 0
    finally:
        print("finally")
