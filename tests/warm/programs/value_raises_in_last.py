"""Text."""
@staticmethod
def f():
    pass


# a comment
print(1 /
      0)
