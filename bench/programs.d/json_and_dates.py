import datetime
import decimal
import functools
import itertools
import json
import re

rows = [{"day": str(datetime.date(2024, 2, 27) + datetime.timedelta(days=n)), "n": n}
        for n in range(4)]
print(json.dumps(rows, sort_keys=True))
print(re.findall(r"(\d+)-(\d+)", "10-20, 30-40"), decimal.Decimal("0.1") * 3)
print(functools.reduce(lambda a, b: a * b, range(1, 20)), list(itertools.pairwise("abc")))
