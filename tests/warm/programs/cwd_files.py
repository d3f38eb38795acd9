import os

print(os.listdir("."), os.path.basename(os.getcwd()))
os.mkdir("made")
with open("made/file", "w") as file:
    print(file.write("content"), file.fileno())
