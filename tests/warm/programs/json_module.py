# value: {"a": [1, 2.5, null, true], "b": {"c": "\u00fc\u2028\ud83d\ude00"}}
import json

text = json.dumps({"a": [1, 2.5, None, True], "b": {"c": "\u00fc\u2028\U0001f600"}})
print(text)
try:
    json.loads("[1,")
except json.JSONDecodeError as error:
    print(error)
json.loads(text)
