text = "x = = 1"
eval(text)
