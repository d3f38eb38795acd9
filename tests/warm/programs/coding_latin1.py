# -*- coding: latin-1 -*-
text = "grüße, text in a file that says latin-1"
print(text)
raise ValueError("with its line shown")  # hür
