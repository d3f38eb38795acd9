import sys

for stream in (sys.stdin, sys.stdout, sys.stderr):
    print(stream.name, stream.mode, stream.encoding, stream.errors, stream.line_buffering,
          stream.write_through, stream.newlines, stream.isatty(), stream.seekable())
    print(type(stream.buffer).__name__, stream.buffer.raw.mode, stream.buffer.raw.closefd)
print(sys.__stdout__ is sys.stdout)
