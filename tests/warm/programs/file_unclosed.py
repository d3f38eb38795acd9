file = open("out.txt", "w")
file.write("flushed when the interpreter ends\n" * 3)
keep = [open("second.txt", "w")]
keep[0].write("also")
raise ValueError
