# SPDX-License-Identifier: Apache-2.0
# The template: imports, rehearses, and waits; its clones run programs.


def settle(alone=False):
    """Removes side effects of the imports besides modules; returns all generators of random."""
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
    if alone:
        return []  # there will be no clones
    kind = getattr(sys.modules.get("_random"), "Random", ())
    # Modules have hidden ones. Those with a constant seed cannot be distinguished from others.
    generators = [it for it in gc.get_objects() if issubclass(type(it), kind)]
    gc.freeze()
    return generators


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

    # Releasing these would write to each object that they hold.
    kept.extend((sys._getframe().f_code, sys._getframe(1).f_code, sys._getframe(2).f_code))
    kept.extend((environment, generators, sys.modules["__main__"], os.environ._data))
    wait, beginning = serve()
    failed = None
    try:
        for generator in generators:
            generator.seed()
        apply(FRESH)
        if beginning == "plain":
            rehearse(environment)
        # Where pages are pinned, it is in the rehearsal that shows which.
        if guarded and beginning != "pinned":
            rehearse_guard(SHORT)
    except Exception as error:
        failed = error
    argv, entries, value_fd = wait()
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
        # Cold, or an unexpected version of a module: a slow start is better than shared state.
        if GUARD_WORD in words[:2]:
            try:
                exec_guarded(argv[0], words, entries, value_fd, session)
            except Exception as error:
                leave_refused("the guard could not be set up: %s" % error)
        os.execve(argv[0], argv, entries)
