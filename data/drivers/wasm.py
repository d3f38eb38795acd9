# SPDX-License-Identifier: Apache-2.0
# The driver of a Python for WebAssembly that is cloned into cells: the program of its -c option. In
# the template it imports the modules that are named by its arguments; in a clone it becomes the
# program of the run. See src/wasm_template. It waits by os.urandom() with two sizes that nothing
# else asks for: 17 and 19.


def boot(boot):
    import atexit
    import gc
    import os
    import sys

    main = sys.modules["__main__"].__dict__
    del main["boot"]
    # An import must not look for files: a template has none.
    del sys.path[0]
    for name in sys.argv[1:]:
        try:
            __import__(name)
        except BaseException:
            pass

    def take(block):
        # COUNT, SIZE, words, variables, source: see src/wasm_template/order.c.
        size = int(block.split(b"\0", 2)[1])
        source = block[len(block) - size:] if size >= 0 else None
        parts = block[:len(block) - max(size, 0)].split(b"\0")[:-1]
        count = int(parts[0])
        words = [os.fsdecode(part) for part in parts[2:2 + count]]
        os.environ.clear()
        for entry in parts[2 + count:]:
            name, equals, value = entry.partition(b"=")
            if equals and name:
                os.environ[os.fsdecode(name)] = os.fsdecode(value)
        sys.orig_argv[:] = words
        sys.argv[:] = words[1:]
        sys.path.insert(0, os.path.dirname(words[1]))
        return words[1], source

    def prepare(path, text, space):
        loader = sys.modules["_frozen_importlib_external"].SourceFileLoader
        space.update(__file__=path, __cached__=None, __loader__=loader("__main__", path))
        if b"\0" in text:
            # As the interpreter reports it for a file.
            lines = text[:text.index(b"\0")].decode(errors="replace").split("\n")
            raise SyntaxError("source code cannot contain null bytes", (path, len(lines), None, lines[-1]))
        return compile(text, path, "exec", dont_inherit=True)

    def read(path):
        with open(path, "rb") as file:
            return file.read()

    def exit_status(code):
        # As the interpreter understands the argument of sys.exit().
        if code is None:
            return 0
        if isinstance(code, int):
            return code if -1 << 31 <= code < 1 << 31 else -1
        try:
            print(code, file=sys.stderr)
        except Exception:
            pass
        return 1

    def show(error):
        # As the interpreter does it for an exception that nobody has caught.
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename == boot.__code__.co_filename:
            trace = trace.tb_next
        error.__traceback__ = trace
        sys.last_exc = sys.last_value = error
        sys.last_type, sys.last_traceback = type(error), error.__traceback__
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except SystemExit as other:
            return exit_status(other.code)
        except BaseException as other:
            print("Error in sys.excepthook:", file=sys.stderr)
            sys.__excepthook__(type(other), other, other.__traceback__.tb_next)
            print("\nOriginal exception was:", file=sys.stderr)
            sys.__excepthook__(type(error), error, error.__traceback__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1

    def run(path, source):
        try:
            exec(prepare(path, read(path) if source is None else source, main), main)
            return 0
        except SystemExit as error:
            return exit_status(error.code)
        except BaseException as error:
            return show(error)
        finally:
            main.pop("__file__", None)
            main.pop("__cached__", None)

    def clear(space):
        # In the order of an interpreter that ends: private names first.
        for private in (True, False):
            for name in list(space):
                if name != "__builtins__" and name.startswith("_") == private:
                    space[name] = None

    def finish(known):
        # Destroys the program's own objects. Those of the template are left to the kernel: they
        # would cost more than most programs.
        own = [sys.modules[name] for name in list(sys.modules) if name not in known]
        clear(main)
        for module in reversed(own):
            if isinstance(module, type(sys)):
                clear(module.__dict__)
        own.clear()
        gc.collect()

    def flush():
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()

    def rehearse():
        # Memory and code that every run uses is then each clone's own before its run.
        path, source = take(b"2\0" b"42\0python\0code.py\0A=b\0"
                            b"import sys\nx = [str(i) for i in range(9)]\n")
        space = {}
        exec(prepare(path, source, space), space)
        exit_status(None)
        clear(space)
        gc.collect()
        flush()
        del sys.path[0]

    kind = getattr(sys.modules.get("_random"), "Random", ())
    known = set(sys.modules)
    rehearse()
    gc.collect()
    generators = [it for it in gc.get_objects() if issubclass(type(it), kind)]
    gc.freeze()
    os.urandom(17)  # the process is a template from here on; its clones return
    for generator in generators:
        generator.seed()
    rehearse()
    status = run(*take(os.urandom(int(os.urandom(19)))))
    atexit._run_exitfuncs()
    try:
        flush()
        finish(known)
        flush()
    except BaseException:
        sys.exit(status)  # the interpreter shows what went wrong, and how it ends
    os._exit(status)


boot(boot)
