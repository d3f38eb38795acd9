# value: [3, 3]
[(n := 3), n]
