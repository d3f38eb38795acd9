# env: {"TZ": "Asia/Tokyo"}
import datetime
import time

print(time.tzname, time.timezone, time.localtime(0).tm_hour)
print(datetime.datetime.fromtimestamp(0).astimezone().isoformat())
