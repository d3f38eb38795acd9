# SPDX-License-Identifier: Apache-2.0
# An interpreter that was started in a held cell, before its request was known: see src/agent.
#
# It was started by the arguments of a run, with this text in the place of the source. So all that
# depends on these is as in any run: flags, orig_argv, sys.path, /proc/self/cmdline.

ORDER_FD = 3

# These are read before there is a request, by libraries and for sys.flags.
EARLY = (b"LD_", b"GLIBC_", b"MALLOC_", b"OPENSSL_", b"SSL_", b"LANG", b"LC_")
EARLY += (b"OMP_", b"OPENBLAS_", b"MKL_", b"NUMEXPR_", b"BLIS_")


def receive_order():
    """Says that this waits, and waits: for arguments and variables."""
    os.write(ORDER_FD, b"w")
    parts = [os.read(ORDER_FD, READ_BYTES)]
    while parts[-1]:
        parts.append(os.read(ORDER_FD, READ_BYTES))
    os.close(ORDER_FD)
    count, _, texts = b"".join(parts).partition(b"\n")
    texts = texts.split(b"\0")[:-1]
    argv, pairs = texts[: int(count)], texts[int(count) :]
    entries = {}
    for pair in pairs:
        name, _, value = pair.partition(b"=")
        entries.setdefault(name, value)  # the first counts
    return [os.fsdecode(it) for it in argv], entries


def import_ahead(names):
    # The program's directory has nothing that could be imported now but this text.
    path, sys.path[:] = sys.path[:], sys.path[1:]
    for name in names:
        try:
            __import__(name)
        except BaseException:
            pass  # the program will see the same
    sys.path[:] = path


def export(before, after):
    """Replaces the environment of the C library."""
    if any(name.startswith(EARLY) for name, _ in before.items() ^ after.items()):
        raise Cold
    for name in before.keys() - after.keys():
        os.unsetenv(name)
    for name in after:
        if before.get(name) != after[name]:
            os.putenv(name, after[name])


def be_waiting(names):
    own_path = os.path.dirname(sys.argv[0])
    own = getattr(sys, "orig_argv", [sys.executable, *sys.argv])
    options = own[: -len(sys.argv)]
    import_ahead(names)
    environment = Environment()
    warm_up()
    settle(True)
    argv, entries = receive_order()
    try:
        count = len(options)
        if argv[:count] != options:
            raise Cold
        export(environment.before, entries)
        environment.replace(entries)
        if "tempfile" in sys.modules:
            fresh_tempfile(sys.modules["tempfile"])
        apply(BEGIN)
        start(argv[count:], options, own_path, None)
    except Exception:
        # As in a template: a slow start is better than another result.
        os.execve(argv[0], argv, entries)
