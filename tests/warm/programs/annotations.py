x: int = 3
y: "str"
print(__annotations__)
if x:
    z: float = 1.5
print(sorted(__annotations__))
