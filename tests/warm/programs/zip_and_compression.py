import gzip
import hashlib
import io
import zipfile
import zlib

print(zlib.decompress(zlib.compress(b"x" * 100)), hashlib.sha256(b"a").hexdigest()[:8])
print(gzip.decompress(gzip.compress(b"y")))
memory = io.BytesIO()
with zipfile.ZipFile(memory, "w") as archive:
    archive.writestr("a.txt", "text")
print(zipfile.ZipFile(memory).read("a.txt"))
