# SPDX-License-Identifier: Apache-2.0
# Copies the state of a session's interpreter, as far as possible: a run in the session that is
# forked saves it to a file, a run in the new one loads it from its copy of that file. Both have the
# word and the file's name as arguments; FILE.names has a line for each name: "+NAME", or "-NAME", a
# tab, and why it was left out. It is treated like code of the tenant.
#
# Values are pickled. Functions of the session are copied by their code, closures and defaults,
# modules by their names, classes by the text of the run that made them. Values that pickle refuses
# are left out.
def _brig_fork():
    import ast, importlib, io, marshal, os, pickle, sys, types

    LIMIT = 8 << 20
    EARLY = 4096  # smaller ones are also saved separately: classes may need them
    TEXT_LIMIT = 1 << 20

    class TooLarge(Exception):
        pass

    class Bounded(io.RawIOBase):
        """The output of pickle, up to a limit."""

        def __init__(self):
            self.parts, self.left = [], LIMIT

        def write(self, data):
            self.left -= len(data)
            if self.left < 0:
                raise TooLarge("it has more than 8 MiB")
            self.parts.append(bytes(data))
            return len(data)

    # Functions that the pickles call by name.
    def make_function(code, name, cells):
        return types.FunctionType(marshal.loads(code), main, name, None, cells)

    def set_function(function, state):
        function.__dict__.update(state.pop("__dict__"))
        for key, value in state.items():
            setattr(function, key, value)

    def make_cell():
        return types.CellType()

    def set_cell(cell, state):
        cell.cell_contents = state[0]

    helpers = types.ModuleType("_brig_fork")
    for helper in (make_function, set_function, make_cell, set_cell):
        helper.__module__, helper.__qualname__ = "_brig_fork", helper.__name__
        setattr(helpers, helper.__name__, helper)
    sys.modules["_brig_fork"] = helpers

    class Saver(pickle.Pickler):
        def reducer_override(self, thing):
            if type(thing) is types.FunctionType and thing.__globals__ is main:
                state = {key: getattr(thing, key) for key in (
                    "__defaults__", "__kwdefaults__", "__doc__", "__qualname__", "__annotations__",
                    "__module__")}
                state["__dict__"] = dict(vars(thing))
                made = (marshal.dumps(thing.__code__), thing.__name__, thing.__closure__)
                return make_function, made, state, None, None, set_function
            if type(thing) is types.CellType:
                try:
                    contents = (thing.cell_contents,)
                except ValueError:
                    contents = None
                return make_cell, (), contents, None, None, set_cell
            if isinstance(thing, types.ModuleType):
                if sys.modules.get(thing.__name__) is not thing:
                    raise pickle.PicklingError("it is a module that cannot be imported by name")
                return importlib.import_module, (thing.__name__,)
            if isinstance(thing, type) and thing.__module__ == "__main__":
                if main.get(thing.__name__) is not thing or thing.__name__ not in classes:
                    raise pickle.PicklingError(f"the text of class {thing.__name__} is not known")
            return NotImplemented

    def pickled(thing):
        out = Bounded()
        Saver(out, 5).dump(thing)
        return b"".join(out.parts)

    def why(error):
        return " ".join(f"{type(error).__name__}: {error}".split())[:200]

    def find_sources():
        """The driver has the text of each run."""
        frame = sys._getframe()
        while frame:
            driver = frame.f_locals.get("self")
            if hasattr(driver, "sources") and hasattr(driver, "main"):
                return ["".join(entry[2]) for entry in driver.sources.values()]
            frame = frame.f_back
        return []

    def find_classes():
        """Name: text, in the order in which they were made."""
        found = {}
        for source in find_sources():
            if len(source) > TEXT_LIMIT or "class " not in source:
                continue
            try:
                tree = ast.parse(source)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            lines = source.splitlines(True)
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    first = min([node.lineno] + [word.lineno for word in node.decorator_list])
                    found.pop(node.name, None)
                    found[node.name] = "".join(lines[first - 1 : node.end_lineno])
        return {name: text for name, text in found.items()
                if isinstance(main.get(name), type) and main[name].__module__ == "__main__"
                and main[name].__name__ == name}

    def tell_names(path, carried, left):
        with open(path + ".names", "w", encoding="utf-8", errors="replace") as file:
            for name in carried:
                file.write(f"+{name}\n")
            for name, reason in left.items():
                file.write(f"-{name}\t{reason}\n")

    def save(path):
        each, left, room = {}, {}, LIMIT
        for name, value in list(main.items()):
            if name in classes or name[:2] == name[-2:] == "__" or not name.isidentifier():
                continue
            try:
                each[name] = pickled(value)
            except BaseException as error:
                left[name] = why(error)
                continue
            room -= len(each[name])
            if room < 0:
                left[name] = "the state has more than 8 MiB without it"
                room += len(each.pop(name))
        state = {
            "classes": classes, "cwd": os.getcwd(), "path": list(sys.path), "env": dict(os.environ),
            "early": {name: data for name, data in each.items() if len(data) <= EARLY},
            "each": each, "whole": None,
        }
        try:
            state["whole"] = pickled({name: main[name] for name in each})
            if len(state["whole"]) + sum(map(len, each.values())) > LIMIT:
                state["each"] = {}
        except Exception:
            pass  # one by one, then
        with open(path, "wb") as file:
            pickle.dump(state, file, 5)
        tell_names(path, [*classes, *each], left)

    def make_classes(texts, left):
        for name, text in texts.items():
            try:
                exec(compile(text, "<fork>", "exec", 0, True), main)
                left.pop(name, None)
            except BaseException as error:
                left[name] = why(error)

    def load(path):
        left = {}
        with open(path, "rb") as file:
            state = pickle.load(file)
        os.environ.clear()
        os.environ.update(state["env"])
        sys.path[:] = state["path"]
        try:
            os.chdir(state["cwd"])
        except OSError:
            pass
        for name, data in state["early"].items():
            try:
                main[name] = pickle.loads(data)
            except BaseException:
                pass  # perhaps later, when the classes exist
        make_classes(state["classes"], left)
        try:
            main.update(pickle.loads(state["whole"]))
        except BaseException as error:
            for name in {**state["each"], **state["early"]}:
                try:
                    main[name] = pickle.loads(state["each"].get(name) or state["early"][name])
                except BaseException as other:
                    left[name] = why(other)
            if not state["each"]:
                left["*"] = why(error)
        make_classes({name: state["classes"][name] for name in list(left)
                      if name in state["classes"]}, left)
        tell_names(path, [], left)

    word, path = sys.argv[1:3]
    try:
        classes = find_classes() if word == "save" else {}
        save(path) if word == "save" else load(path)
    finally:
        del sys.modules["_brig_fork"]


# In a namespace of its own: the session's may have other meanings for every name.
(lambda f: f.__class__(f.__code__, {
    "__builtins__": f.__globals__["__builtins__"], "__name__": "_brig_fork", "main": f.__globals__,
})())(_brig_fork.__globals__.pop("_brig_fork"))
