from decimal import Decimal, getcontext
from fractions import Fraction

print(getcontext())
print(Decimal(1) / 3, Fraction(1, 3) + Fraction(1, 6))
print(getcontext().flags[__import__("decimal").Inexact])
