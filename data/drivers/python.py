# SPDX-License-Identifier: Apache-2.0
# Runs a program in an interpreter that is already there, as `python3 SOURCE ARGUMENTS` would.
#
# It is used in two ways:
#  - In a template the text is executed with `serve` and `preload` among its globals. The modules
#    are imported, the heap is frozen, serve() is called. It comes back in clones only, one for each
#    run, with the run's arguments, environment and value descriptor; or, in a clone that is made
#    before there is a run for it, with a function that waits for one and returns these.
#  - As a script, `python3 python.py SOURCE ARGUMENTS`, for a cold run that wants a value: the value
#    goes to descriptor 3.
#
# The program must not find the driver below it: not in tracebacks, not in inspect.stack(), not by
# the stack levels of warnings, not in the depth at which recursion ends. When an interpreter
# reports an uncaught exception, it calls the hook with no frame left. So the driver ends by one,
# and the hook is made to run the program: see Index. That way the interpreter also ends as ever:
# threads are joined, atexit's functions run, objects are finalized, files are flushed.
#
# The value is that of the last statement, if that is an expression and not None, or else that of
# the global `result`. JSON must have its like.
#
# Where the code is guarded, the texts of data/guard come before this one, and an order for them
# before the source's path. Then nothing of the program runs before the guard has looked at it.
#
# What a running interpreter cannot imitate (a source that does not compile, PYTHON* variables,
# another character set) is left to a new one that takes its place by exec: see Cold.
import io
import os
import sys

SCRIPT_VALUE_FD = 3
HIGH_FD = 255  # above the program's own files, below any limit that can be meant
VALUE_BYTES = 64 * 1024
VALUE_DEPTH = 64
READ_BYTES = 64 * 1024
TWISTER_WORDS = 624  # the state of that generator
REHEARSALS = 16  # python specializes what has run eight times or so

# Names in the program's globals that no source text can spell.
VALUE, ERROR, CAUGHT = ".value", ".error", ".caught"
# Parsed, this gives nodes to graft without an import of `ast`.
SKELETON = "value = 0\ntry:\n pass\nexcept BaseException as caught:\n error = caught\n"
ONLY_AST = 0x400

FunctionType = type(lambda: 0)
MethodType = type(os.environ.get)

grafts = []  # the skeleton's tree, parsed ahead
warnings = io.StringIO()  # the compiler's
native = None  # in a template: the extension
kept = []  # what clones need not take apart
skipped = []  # what could not be imported, for who started the template
guarding = None  # the program's Guard, if it has one: see data/guard/program.py
reporting = None  # and where that reports to
GUARD_WORD = "/etc/brig/guard"


# --- the program's code --------------------------------------------------------------------------


def place(like, *nodes):
    for node in nodes:
        for field in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            setattr(node, field, getattr(like, field))


def is_a(node, kind):
    return type(node).__name__ == kind  # the classes themselves are in `_ast`


def parse(source, path):
    return compile(source, path, "exec", ONLY_AST, True)


def compile_program(source, path, valued):
    """The program's code. It keeps its last value, and what it raises instead of raising it."""
    return compile(graft(parse(source, path), path, valued), path, "exec", 0, True)


def graft(tree, path, valued):
    keep, guard = (grafts.pop() if grafts else parse(SKELETON, path)).body
    body, head = tree.body, 0
    if body and is_a(body[0], "Expr") and isinstance(getattr(body[0].value, "value", None), str):
        head = 1  # a docstring must stay the first
    while body[head:] and is_a(body[head], "ImportFrom") and body[head].module == "__future__":
        head += 1
    if valued and body and is_a(body[-1], "Expr"):
        last = body[-1]
        place(last, keep, keep.targets[0])
        keep.targets[0].id, keep.value = VALUE, last.value
        body[max(head, len(body) - 1) :] = [keep]
    if body[head:]:
        handler = guard.handlers[0]
        store = handler.body[0]
        place(body[head], guard)
        place(body[-1], handler, store, store.targets[0], store.value)
        # No type: the program may have given BaseException another meaning.
        handler.type, handler.name = None, CAUGHT
        store.targets[0].id, store.value.id = ERROR, CAUGHT
        guard.body = body[head:]
        body[head:] = [guard]
    return tree


# --- the same in less memory ---------------------------------------------------------------------

# The tree above is one of python objects, of types that are spread over the heap: to make it has a
# clone copy three times as many pages as to compile the text. A template's extension catches what
# a program raises; and the value can be had by compiling the last expression by itself.

# These start no expression,
STATEMENTS = (
    b"import from def class if for while with try async global nonlocal del pass assert raise"
).split()
# these no statement,
INSIDE = (b" ", b"\t", b"\n", b"#", b")", b"]", b"}", b"else:", b"else ", b"elif ", b"elif(")
INSIDE += (b"except:", b"except ", b"except(", b"except*", b"finally:", b"finally ")
# and these look at frames, of which there are two then, or make lines that are none of ours.
OTHERWISE = (b"_getframe", b"currentframe", b"inspect", b"settrace", b"set_trace", b"breakpoint")
OTHERWISE += (b"profile", b"monitoring", b"__future__", b"\r", b"\f")
STRINGS = (b"'", b'"')


def last_statement(source):
    """Where the line starts that a last statement of the program can start with; None: unclear."""
    if any(word in source for word in OTHERWISE):
        return None
    if any(b"coding" in line for line in source.split(b"\n", 2)[:2]):
        return None
    end = len(source)
    while end > 0:
        at = source.rfind(b"\n", 0, end) + 1
        if at < len(source) and not source.startswith(INSIDE, at):
            # If it is in a string that started before, that ends after it.
            tail = source[at:]
            inside = b'"""' in tail or b"'''" in tail or source.endswith(b"\\\n", 0, at)
            return None if inside else at
        end = at - 1
    return None


def compile_parts(source, path, valued):
    """The program's code and, if it ends in an expression whose value is wanted, that of the
    expression by itself. None: it takes the tree to know.
    """
    if not valued:
        return (compile(source, path, "exec", 0, True),)
    at = last_statement(source)
    # A string can be the docstring.
    if at is None or source[at : at + 4].lstrip(b"(rRbBuUfF")[:1] in STRINGS:
        return None
    tail = b"\n" * source.count(b"\n", 0, at) + source[at:]
    if source[at:].split(None, 1)[0].rstrip(b":") not in STATEMENTS:
        try:
            last = compile(tail, path, "eval", 0, True)
            return compile(source[:at], path, "exec", 0, True), last
        except SyntaxError:
            pass
    # What compiles by itself has no bracket that another line opens or closes: it is the last
    # statement, and no expression, unless it is several in one line.
    code = compile(tail, path, "exec", 0, True)
    if b";" in tail:
        return None
    return (compile(source, path, "exec", 0, True) if at else code,)


class Cold(Exception):
    """A new interpreter has to do it."""


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
    """Its code objects, to be run one after the other."""
    # A new interpreter says the warnings again.
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


# --- its value -----------------------------------------------------------------------------------


class NoValue(Exception):
    pass


def encode_string(text):
    global encode_string
    # Not `json`: the program may have a file of that name.
    from _json import encode_basestring as encode_string

    return encode_string(text)


def encode(value, out, room, depth=0):
    """Appends the JSON text of a value to `out`; returns the number of characters still free."""
    if isinstance(value, getattr(sys.modules.get("numpy"), "generic", ())):
        value = value.item()
    if value is None or value is True or value is False:
        text = {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, str) and len(value) <= room:
        text = encode_string(value)
    elif isinstance(value, int) and value.bit_length() <= 4 * room:
        text = int.__repr__(value)
    elif isinstance(value, float) and value - value == 0:
        text = float.__repr__(value)
    elif isinstance(value, (dict, list, tuple)) and depth < VALUE_DEPTH:
        pairs = isinstance(value, dict)
        text, mark = ("{}", "{") if pairs else ("[]", "[")
        for item in value.items() if pairs else value:
            out.append(mark)
            if pairs:
                key, item = item
                if not isinstance(key, str):
                    raise NoValue
                room = encode(key, out, room, depth + 1)
                out.append(":")
            room = encode(item, out, room - 2, depth + 1)
            text, mark = "}" if pairs else "]", ","
    else:
        raise NoValue
    out.append(text)
    if len(text) > room:
        raise NoValue
    return room - len(text)


class ValuePipe:
    """Where the value goes. It keeps out of the way of the program and of what that starts."""

    def __init__(self, fd):
        self.pid, self.fd = os.getpid(), fd
        self.file = self.identity()

    def move(self):
        fd = self.fd
        high = min(os.sysconf("SC_OPEN_MAX"), HIGH_FD + 1) - 1
        try:
            os.fstat(high)
        except OSError:
            if fd < high:
                self.fd = os.dup2(fd, high, inheritable=False)
                os.close(fd)
        os.set_inheritable(self.fd, False)

    def identity(self):
        status = os.fstat(self.fd)
        return status.st_dev, status.st_ino

    def send(self, value):
        # Forked copies of the program get here as well; and it may have closed everything, and
        # opened a file that has this number now.
        if value is None or os.getpid() != self.pid or self.identity() != self.file:
            return
        out = []
        encode(value, out, VALUE_BYTES)
        data = "".join(out).encode()
        if len(data) <= VALUE_BYTES:
            while data:
                data = data[os.write(self.fd, data) :]
            os.close(self.fd)


# --- how it ends ---------------------------------------------------------------------------------


class DieOfInterrupt:
    """In sys this is one of the last objects to go. The interpreter itself dies a little later."""

    def __del__(self, kill=os.kill, pid=os.getpid):
        kill(pid(), 2)


def flush_streams():
    for name in ("stderr", "stdout"):
        try:
            getattr(sys, name).flush()
        except BaseException:
            pass  # what cannot be written is tried again, and reported, at the very end


def report(error):
    """What the interpreter does about an uncaught exception."""
    kind, trace = type(error), error.__traceback__
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    if not hasattr(sys, "excepthook"):
        sys.stderr.write("sys.excepthook is missing\n")
        sys.__excepthook__(kind, error, trace)
        return
    try:
        sys.excepthook(kind, error, trace)
        return
    except SystemExit:
        raise
    except BaseException as other:
        second = other.with_traceback(other.__traceback__.tb_next)
    sys.stderr.write("Error in sys.excepthook:\n")
    sys.__excepthook__(type(second), second, second.__traceback__)
    sys.stderr.write("\nOriginal exception was:\n")
    sys.__excepthook__(kind, error, trace)


class Ending:
    """Ends the interpreter of a clone without taking apart what the template has made.

    An interpreter that ends destroys every module and type that it has. In a clone that writes to
    nearly every page of the heap, which takes longer than most programs. Only what the program has
    made can be seen to go: its modules, and what it has put into those of others. So that is taken
    apart, in the order in which an interpreter does it, and the rest is left to the kernel.

    It is the first function that atexit knows, hence the last that it calls: threads have been
    joined by then, and the program's own functions have run.
    """

    # Of sys: what an interpreter forgets first, so that no traceback keeps objects alive.
    FORGOTTEN = (
        "path argv ps1 ps2 last_type last_value last_traceback last_exc path_hooks "
        "path_importer_cache meta_path __interactivehook__"
    ).split()

    def __init__(self, leave):
        import _weakref
        import gc

        known = set(sys.modules)
        import atexit

        if "atexit" not in known:
            del sys.modules["atexit"]  # the program may never have heard of it

        self.leave, self.status, self.atexit = leave, None, atexit
        self.ref, self.collect = _weakref.ref, gc.collect
        self.function = self.end  # kept: it has to outlive its own registration
        if leave:
            atexit.register(self.function)

    def remember(self):
        """What is there now is the template's."""
        self.spaces = {
            name: (vars(module), set(vars(module)))
            for name, module in sys.modules.items()
            if isinstance(module, type(sys))
        }
        self.functions = self.atexit._ncallbacks()

    def forget_functions(self):
        """All have run. Those of the program keep its module alive, with the files open in it.

        False: they stay, in the list that is being gone through.
        """
        if self.atexit._ncallbacks() == self.functions:
            return True
        self.atexit._clear()
        return sys.version_info < (3, 14)

    def take(self, error):
        """How the program ended: with the exception, or well. What is rare goes the long way."""
        try:
            code = error.code if isinstance(error, SystemExit) else None if error is None else 1
        except BaseException:
            return  # a subclass that has ideas of its own
        if code is None or type(code) is int and -(2**31) <= code < 2**31:
            self.status = (code or 0) & 0xFF
        elif isinstance(error, SystemExit) and type(code) is str:
            self.status = 1

    def modules_of_program(self):
        """Takes them out of sys.modules; returns weak references, in the order of their import."""
        left = []
        for name in ["__main__", *native.additions(sys.modules, self.spaces)]:
            module = sys.modules.pop(name, None)
            if isinstance(module, type(sys)):
                left.append(self.ref(module))
        return left

    def forget_additions(self):
        """What the program has put into the template's modules."""
        for space, names in native.changed(self.spaces):
            for name in native.additions(space, names):
                del space[name]

    @staticmethod
    def clear(space):
        """As an interpreter clears a module: names with one underscore first."""
        for early in (True, False):
            for name in list(space):
                if type(name) is str and name != "__builtins__" and space[name] is not None:
                    if not early or name[:1] == "_" and name[1:2] != "_":
                        space[name] = None

    def end(self):
        if self.status is None or not hasattr(self, "spaces"):
            return
        if not self.forget_functions():
            return
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            return  # to be reported as an interpreter does, with its own status
        for name in self.FORGOTTEN:
            if name in sys.__dict__:
                sys.__dict__[name] = None
        for name in ("stdin", "stdout", "stderr"):
            sys.__dict__[name] = sys.__dict__["__" + name + "__"]
        self.collect()
        if sys.version_info >= (3, 10):
            sys.modules["io"] = None  # who reports an error from here on cannot read the source
        left = self.modules_of_program()
        self.forget_additions()
        self.collect()
        for ref in reversed(left):
            if ref() is not None:
                self.clear(vars(ref()))
        self.collect()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                self.status = 120
        self.leave(self.status)


ending = None  # in a template: an Ending


def conclude(module, pipe):
    """After the program's last line. Raises the SystemExit that ends the interpreter."""
    space = vars(module)
    error, value = space.pop(ERROR, None), space.pop(VALUE, None)
    flush_streams()
    if ending:
        ending.take(error)
    if guarding:
        conclude_guarded(error)
    if error is None:
        if pipe and (not guarding or guarding.order["value"]):
            try:
                pipe.send(space.get("result") if value is None else value)
            except BaseException:
                pass  # then there is none
        raise SystemExit
    if issubclass(type(error), SystemExit):
        raise error
    try:
        report(error)
    except SystemExit as other:
        if ending:
            ending.take(other)
        raise
    if type(error) is KeyboardInterrupt:
        if guarding:
            guarding.paused = True
        if ending:
            ending.status = None
        sys.__dict__[".interrupt"] = DieOfInterrupt()
        raise SystemExit(130)
    raise SystemExit(1)


# --- running it ----------------------------------------------------------------------------------


held = []  # the program's code, its module, and where the value goes


def begin(_):
    # What the frames of the driver have held is no business of the program.
    trace = sys.last_traceback
    while trace:
        trace.tb_frame.clear()
        trace = trace.tb_next
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        sys.__dict__.pop(name, None)
    sys.excepthook = sys.__excepthook__
    parts, space = held.pop(0), vars(held[0])
    if native:
        return native.program(parts, space)
    # Called without arguments, a module's code has its globals for locals. An iterator that has
    # met its sentinel lets go of the function, hence of the globals: nothing of the driver's keeps
    # the program's objects alive when the interpreter finalizes them.
    return iter(FunctionType(parts[0], space), None)


def end(stages):
    try:
        conclude(held.pop(0), held.pop())
    finally:
        if stages[1] and ending:
            ending.atexit.unregister(ending.function)
        sys.settrace(stages[1])


class Index(type):
    """The hook is `range`, which is called with an exception's type and asks that for its index:
    the list of what a chain of iterators gives, of which the first is the program.

    No link of it is a python function, and since python 3.9 none counts as a level of recursion.
    """

    __index__ = MethodType(
        list,
        map(
            end,
            zip(
                map(list, map(begin, [None])),
                # A tracer that the program leaves behind is to see the interpreter end, but not
                # the driver.
                iter(sys.gettrace, held),
                map(sys.settrace, [None]),
                map(sys.setprofile, [None]),
            ),
        ),
    )


class Program(BaseException, metaclass=Index):
    """The exception by which the driver leaves all its frames."""


def main_module(source):
    loader = sys.modules["_frozen_importlib_external"].SourceFileLoader
    module = type(sys)("__main__")
    module.__loader__ = loader("__main__", source)
    module.__annotations__ = {}
    module.__builtins__ = sys.modules["builtins"]
    module.__file__ = source
    module.__cached__ = None
    return module


def start(argv, options, own_path, pipe):
    """Makes this interpreter one that was started with argv, and runs the program."""
    source = argv[0]
    if sys.path and sys.path[0] == own_path:
        real = native and native.real_path(source) or os.path.realpath(source)
        sys.path[0] = real.rpartition("/")[0] or "/"
        sys.path_importer_cache.pop(sys.path[0], None)
    sys.argv[:] = argv
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = options + argv
    parts = load_guarded(source, pipe) if guarding else load_program(source, pipe)
    sys.modules["__main__"] = module = main_module(source)
    held[:] = [parts, module, pipe]
    sys.excepthook = range
    if guarding:
        guarding.begin(source, module)
    raise Program


def be_script():
    options = getattr(sys, "orig_argv", [sys.executable, *sys.argv])[: -len(sys.argv)]
    own_path = os.path.dirname(os.path.realpath(sys.argv[0]))
    argv = sys.argv[1:]
    try:
        pipe = ValuePipe(SCRIPT_VALUE_FD)
        pipe.move()
    except OSError:
        pipe = None
    if argv[:1] == [GUARD_WORD]:
        argv = take_guard(argv, pipe)
    try:
        start(argv, options, own_path, pipe)
    except Cold:
        if guarding and guarding.mode != "off":
            leave_refused("the guard could not be set up")
        os.execv(sys.executable, ([sys.executable] if guarding else options) + argv)


# --- a clone is made fresh -----------------------------------------------------------------------

# Nothing here goes by the process id, as the modules' own care does: it is the same in all cells.


def fresh_multiprocessing(process):
    process.current_process().authkey = os.urandom(32)


def fresh_numpy(random):
    # Of the words that seed() would find by a longer way.
    words = sys.modules["numpy"].frombuffer(os.urandom(4 * TWISTER_WORDS), "u4")
    random.set_state(("MT19937", words, TWISTER_WORDS))


def fresh_tempfile(tempfile):
    tempfile._name_sequence = tempfile.tempdir = None


def fresh_threading(threading):
    threading.main_thread()._set_native_id()
    threading._counter = threading._count(1).__next__  # Thread-1 is the program's


def fresh_uuid(uuid):
    uuid._node = uuid._last_timestamp = None


# For each clone.
FRESH = {
    # Given any, libcrypto's generators also take new entropy from the system.
    "_ssl": lambda ssl: ssl.RAND_add(os.urandom(32), 32.0),
    "multiprocessing.process": fresh_multiprocessing,
    "numpy.random": fresh_numpy,
    "tempfile": fresh_tempfile,
    "threading": fresh_threading,
    "uuid": fresh_uuid,
}


def begin_logging(logging):
    import time

    logging._startTime = time.time_ns() if isinstance(logging._startTime, int) else time.time()


def begin_multiprocessing(process):
    process.ORIGINAL_DIR = os.path.abspath(os.getcwd())


def begin_site(site):
    path = site.USER_SITE or site.getusersitepackages()
    if site.ENABLE_USER_SITE and path not in sys.path and os.access(path, os.F_OK):
        raise Cold


# For each run.
BEGIN = {
    "logging": begin_logging,
    "multiprocessing.process": begin_multiprocessing,
    "site": begin_site,
}


def apply(table):
    for name, function in table.items():
        if name in sys.modules:
            function(sys.modules[name])


class Environment:
    """The template's environment, and how a run's takes its place."""

    CTYPE = (b"LC_ALL", b"LC_CTYPE", b"LANG")  # the first that is not empty counts

    def __init__(self):
        import _locale
        import time

        self.locale, self.time = _locale, time
        self.charset = _locale.nl_langinfo(_locale.CODESET)
        self.before = dict(os.environb)

    def replace(self, after):
        """The C library has it already."""
        before = self.before
        ctype = [after[name] for name in self.CTYPE if after.get(name)] or [b"C"]
        fixed = after.get(b"LC_ALL") or after.get(b"PYTHONCOERCECLOCALE") == b"0"
        if ctype[0] in (b"C", b"POSIX") and not fixed:
            # As a new interpreter does: PEP 538.
            after = {**after, b"LC_CTYPE": b"C.UTF-8"}
            os.putenv(b"LC_CTYPE", b"C.UTF-8")
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        if any(name.startswith(b"PYTHON") for name in names):
            raise Cold
        # The old ones stay with the template.
        os.environ._data = os.environb._data = sys.modules["posix"].environ = after
        if any(name in names for name in self.CTYPE):
            self.locale.setlocale(self.locale.LC_CTYPE, "")
            if self.locale.nl_langinfo(self.locale.CODESET) != self.charset:
                raise Cold
        if b"TZ" in names:
            self.time.tzset()
        if b"HOME" in names and "site" in sys.modules:
            sys.modules["site"].USER_BASE = sys.modules["site"].USER_SITE = None


def fresh_signals():
    signal = sys.modules["_signal"]
    own = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGPIPE: signal.SIG_IGN,
        signal.SIGXFSZ: signal.SIG_IGN,
    }
    for number in signal.valid_signals():
        wanted = own.get(number, signal.SIG_DFL)
        if signal.getsignal(number) != wanted:
            signal.signal(number, wanted)
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


# --- the template --------------------------------------------------------------------------------

WARM_UP = """
def squares(n):
    return [i * i for i in range(n)]

class Point:
    def __init__(self, x=0):
        self.x = x

try:
    raise ValueError(f"{Point(1).x!r} {3.5:.2f}")
except ValueError as error:
    print(error, {"a": (1, 2.5, None)}, sorted(squares(20), key=lambda x: -x), *map(str, [1]))
{"a": [1, 2.5, True, None, "x"]}
"""


def warm_up():
    """Pays for what an interpreter's first compilation, calls and output cost."""
    before = set(sys.modules)
    stdout, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO())
    try:
        space = {"__builtins__": sys.modules["builtins"]}
        FunctionType(compile_program(WARM_UP, "<warm-up>", True), space)()
        encode(space[VALUE], [], VALUE_BYTES)
    finally:
        sys.stdout = stdout
    for name in set(sys.modules) - before:
        del sys.modules[name]


SHORT = b"""
def squares(n):
    return [i * i for i in range(n)]

x = squares(2)
print(f"{x}"[:0], end="")
x
"""


def rehearse(environment):
    """What every run does, and no more: in a clone, each page written to is one to copy.

    It is done in a clone while nobody waits; and before in the template, often enough for python
    to have specialized the code and bound its symbols, so that a clone has not to write that.
    """
    environment.replace(dict(environment.before))
    native.real_path(os.getcwd())
    ValuePipe(0)
    space = vars(main_module(""))
    list(native.program(compile_parts(SHORT, "", True), space))
    encode(space[VALUE], [], VALUE_BYTES)
    flush_streams()
    try:
        apply(BEGIN)
    except Cold:
        pass  # a run may have another environment
    ending.collect()


def settle():
    """Removes what the imports have left besides modules; returns all generators of random."""
    import gc

    cache = sys.path_importer_cache
    for path in [path for path, finder in cache.items() if finder is None or path == os.getcwd()]:
        del cache[path]
    for module in list(sys.modules.values()):
        if isinstance(module, type(sys)):
            vars(module).pop("__warningregistry__", None)
    if "linecache" in sys.modules:
        sys.modules["linecache"].clearcache()
    flush_streams()
    grafts.append(parse(SKELETON, ""))
    gc.collect()
    kind = getattr(sys.modules.get("_random"), "Random", ())
    # Modules have hidden ones. Those that had a constant for a seed cannot be told from others.
    generators = [it for it in gc.get_objects() if issubclass(type(it), kind)]
    gc.freeze()
    return generators


# Runs the driver's text, which comes by a descriptor, in a new interpreter.
AGAIN = (
    "import sys; t = open(int(sys.argv.pop(1)), 'rb').read(); "
    "exec(compile(t, '<brig>', 'exec'), {'__name__': 'brig.driver', 'text': t})"
)

def exec_guarded(program, words, entries, value_fd, session):
    """A new interpreter, and the same driver in it: guarded code is never left to itself."""
    if value_fd != SCRIPT_VALUE_FD:
        os.dup2(value_fd, SCRIPT_VALUE_FD)
    else:
        os.set_inheritable(value_fd, True)
    text = globals()["text"]
    try:
        fd = os.memfd_create("driver")
    except OSError:
        fd = os.open("/tmp", os.O_TMPFILE | os.O_RDWR, 0o600)
    view = memoryview(text)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    os.set_inheritable(fd, True)
    alone = ["-I", "-u", "-B"] if '"mode":"strict"' in words[-1 if session else 1] else []
    os.execve(program, [program, *alone, "-c", AGAIN, str(fd), *words], entries)


ORDER = '{"mode":"strict","operations":0,"recursion":0,"ask":0,"refuse":0,"check":0,"value":0}'


def rehearse_guard(text):
    guard = Guard(ORDER, "/nowhere")
    code = guard.compile(graft(guard.look(text, ""), "", True), "")
    guard.importer = GuardImporter(guard)
    space = vars(main_module(""))
    space["__builtins__"] = GuardBuiltins(guard).space
    guard.record()
    list(native.program((code,), space))


def warm_guard():
    """What the guard costs at its first use is paid ahead."""
    if "Guard" not in globals():
        return  # the driver by itself
    import fcntl

    kept.append((guard_modules(), fcntl))
    for _ in range(REHEARSALS):
        rehearse_guard(SHORT)


def be_template(serve, names, leave):
    global ending, native

    native = leave.__self__
    ending = Ending(leave)
    guarded = GUARD_WORD in names  # clones will be; others can be, and take a little longer
    for name in names:
        if name == GUARD_WORD:
            continue
        try:
            __import__(name)
        except BaseException:
            skipped.append(name)
    environment = Environment()
    warm_up()
    warm_guard()
    try:
        for _ in range(REHEARSALS):
            apply(FRESH)
            rehearse(environment)
    except Exception:
        pass  # a clone will see the same
    ending.remember()
    fresh_signals()
    generators = settle()

    # To let go of these is to write to each object that they hold.
    kept.extend((sys._getframe().f_code, sys._getframe(1).f_code, sys._getframe(2).f_code))
    kept.extend((environment, generators, sys.modules["__main__"], os.environ._data))
    order = serve()
    failed = None
    try:
        for generator in generators:
            generator.seed()
        apply(FRESH)
        if callable(order):
            rehearse(environment)
            if guarded:
                rehearse_guard(SHORT)
    except Exception as error:
        failed = error
    argv, entries, value_fd = order() if callable(order) else order
    options, words = argv[:1], argv[1:]
    while words[0][:1] == "-":
        options.append(words.pop(0))
    try:
        # In a template session.py comes before this text.
        session = words[:1] == [globals().get("SESSION_PATH")]
        pipe = ValuePipe(value_fd) if value_fd >= 0 and not session else None
        if failed:
            raise failed
        environment.replace(entries)
        apply(BEGIN)
        if session:
            globals()["serve_session"](value_fd, words[1:])
        rest = take_guard(words, pipe) if words[:1] == [GUARD_WORD] else words
        start(rest, options, "", pipe)
    except Exception:
        # Cold, or a module of another make than expected: better late than not fresh.
        if GUARD_WORD in words[:2]:
            try:
                exec_guarded(argv[0], words, entries, value_fd, session)
            except Exception as error:
                leave_refused("the guard could not be set up: %s" % error)
        os.execve(argv[0], argv, entries)


if "serve" in globals():
    be_template(globals()["serve"], globals()["preload"], globals().get("leave"))
elif sys.argv[1:2] == [globals().get("SESSION_PATH")]:
    globals()["serve_session"](SCRIPT_VALUE_FD, sys.argv[2:])
else:
    be_script()
