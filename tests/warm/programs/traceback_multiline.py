def f(*args):
    return args[0][
        "key"
    ] + sum(
        args
    )


f(
    {},
    2,
    (3 +
     4),
)
