name, width = "value", 12
print(f"{name!r:>{width}} {3.14159:.3f} {1234567:,} {255:#x} {'%5d' % 42}")
print("{0} {x[1]} {y.imag}".format(1, x=[2, 3], y=4j))
print(f"{name=}")
