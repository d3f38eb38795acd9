data = {"a": {"b": [1, 2, None]}}
print(data["a"]["b"][2]["c"])
