print("a file that begins with a mark", __doc__)
