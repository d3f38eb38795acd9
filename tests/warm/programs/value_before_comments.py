# value: "\u00e9"
x = ["é"]


# Comments follow.

x[0]

# one
    # two
