# SPDX-License-Identifier: Apache-2.0
# From the source's path to code objects.

READ_BYTES = 64 * 1024

warnings = io.StringIO()  # the compiler's


def read(path):
    """The file's bytes. Objects of `io` would cost a clone more than the system calls."""
    fd = os.open(path, os.O_RDONLY)
    try:
        parts = [os.read(fd, os.fstat(fd).st_size + 1)]
        while parts[-1]:
            parts.append(os.read(fd, READ_BYTES))
    finally:
        os.close(fd)
    return b"".join(parts)


def load_program(path, valued):
    """Returns its code objects, to be run one after the other."""
    # A new interpreter would print the warnings again.
    stderr, sys.stderr = sys.stderr, warnings
    try:
        source, parts = read(path), None
        if native:
            try:
                parts = compile_parts(source, path, valued)
            except SyntaxError:
                pass
        if not parts or warnings.tell():
            warnings.seek(0)
            warnings.truncate()
            parts = (compile_program(source, path, valued),)
    except Exception:
        raise Cold
    finally:
        sys.stderr = stderr
    if warnings.tell():
        stderr.write(warnings.getvalue())
    return parts
