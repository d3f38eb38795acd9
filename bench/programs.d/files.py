import os
import pathlib
import tempfile

pathlib.Path("out").mkdir(exist_ok=True)
pathlib.Path("out/table.csv").write_text("a,b\n1,2\n")
with tempfile.TemporaryDirectory() as place:
    print(os.path.isdir(place), os.path.dirname(place))
with tempfile.NamedTemporaryFile() as file:
    file.write(b"x" * 100_000)
    file.flush()
    print(os.path.getsize(file.name))
print(sorted(os.listdir(".")), os.getcwd())
