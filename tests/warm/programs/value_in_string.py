# value: "a\nb)\n  "
def same(text):
    return text


same("""a
b)
  """)
