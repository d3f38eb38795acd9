# SPDX-License-Identifier: Apache-2.0
# The risk score of a program: points for elements of its tree, with reasons. It is a hint whether a
# person should review the code first. It proves nothing.

GUARD_RISK_MODULES = {
    "ctypes": (50, "calls native code"), "cffi": (50, "calls native code"),
    "subprocess": (40, "starts programs"), "pty": (40, "starts programs"),
    "multiprocessing": (15, "starts processes"), "signal": (10, "handles signals"),
    "socket": (40, "uses the network"), "ssl": (30, "uses the network"),
    "http": (30, "uses the network"), "urllib": (30, "uses the network"),
    "requests": (30, "uses the network"), "httpx": (30, "uses the network"),
    "aiohttp": (30, "uses the network"), "ftplib": (30, "uses the network"),
    "smtplib": (35, "sends mail"), "telnetlib": (30, "uses the network"),
    "paramiko": (40, "uses the network"), "asyncio": (5, "runs an event loop"),
    "os": (20, "reaches files and processes"), "posix": (35, "reaches the system directly"),
    "shutil": (20, "copies and deletes files"), "pathlib": (10, "reaches files"),
    "tempfile": (5, "writes files"), "glob": (5, "lists files"),
    "sys": (5, "changes the interpreter"), "gc": (30, "looks into the interpreter"),
    "inspect": (20, "looks into the interpreter"), "importlib": (25, "imports by name"),
    "builtins": (25, "changes the interpreter"), "pickle": (25, "loads code as data"),
    "marshal": (40, "loads code as data"), "shelve": (20, "loads code as data"),
    "code": (30, "runs text as code"), "codeop": (30, "runs text as code"),
    "runpy": (30, "runs files as code"), "resource": (20, "changes limits"),
    "fcntl": (15, "reaches devices"), "mmap": (15, "maps memory"), "pwd": (15, "reads accounts"),
    "grp": (10, "reads accounts"), "platform": (5, "looks at the host"),
    "getpass": (10, "asks for passwords"), "sqlite3": (5, "writes files"),
    "base64": (3, "hides text"), "codecs": (5, "hides text"), "threading": (3, "starts threads"),
    "webbrowser": (25, "opens pages"), "site": (20, "changes the interpreter"),
}
GUARD_RISK_CALLS = {
    "eval": (30, "evaluates text as code"), "exec": (35, "runs text as code"),
    "compile": (25, "compiles text"), "__import__": (30, "imports by name"),
    "open": (5, "opens a file"), "globals": (10, "reads the program's own names"),
    "breakpoint": (10, "stops for a debugger"), "getattr": (3, "takes attributes by name"),
    "setattr": (3, "sets attributes by name"), "input": (0, ""),
}
GUARD_RISK_METHODS = {
    "system": (35, "runs a command"), "popen": (35, "runs a command"),
    "fork": (30, "starts processes"), "rmtree": (30, "deletes directories"),
    "unlink": (15, "deletes files"), "remove": (3, "removes something"),
    "kill": (25, "ends processes"), "execv": (40, "starts programs"),
    "execve": (40, "starts programs"), "chmod": (15, "changes permissions"),
    "settrace": (25, "watches the interpreter"), "b64decode": (10, "decodes hidden text"),
    "fromhex": (5, "decodes hidden text"), "loads": (0, ""),
}
GUARD_RISK_REASONS = 12
GUARD_RISK_HUGE = 10 ** 8


class GuardRisk:
    def __init__(self, nodes):
        self.points = {}
        for node, _ in nodes:
            look = GUARD_RISK_LOOKS.get(type(node).__name__)
            if look:
                look(self, node)

    def add(self, key, points, reason, node):
        """The same finding counts once, where it is first found."""
        if points and key not in self.points:
            self.points[key] = (points, "line %d: %s (+%d)" % (node.lineno, reason, points))

    def imports(self, name, node):
        top = (name or "").partition(".")[0]
        points, what = GUARD_RISK_MODULES.get(top, (0, ""))
        self.add("import " + top, points, "%s %s" % (top, what), node)

    def look_Import(self, node):
        for item in node.names:
            self.imports(item.name, node)

    def look_ImportFrom(self, node):
        self.imports(node.module, node)

    def look_Name(self, node):
        points, what = GUARD_RISK_CALLS.get(node.id, (0, ""))
        self.add("name " + node.id, points, "%s %s" % (node.id, what), node)

    def look_Attribute(self, node):
        if guard_is_dunder(node.attr) and node.attr not in GUARD_CALLED | GUARD_READ:
            points = 5 if node.attr in ("__class__", "__dict__", "__setattr__") else 25
            self.add("attribute " + node.attr, points,
                     "%s looks into the interpreter" % node.attr, node)
        elif node.attr in GUARD_NO_ATTRIBUTES and node.attr not in ("obj", "mro"):
            self.add("frames", 25, "%s looks into frames" % node.attr, node)
        points, what = GUARD_RISK_METHODS.get(node.attr, (0, ""))
        self.add("method " + node.attr, points, "%s %s" % (node.attr, what), node)

    def look_Call(self, node):
        if guard_is(node.func, "Name") and node.func.id == "open":
            modes = node.args[1:2] + [it.value for it in node.keywords if it.arg == "mode"]
            text = getattr(modes[0], "value", "") if modes else "r"
            if type(text) is not str or set(text) & set("wax+"):
                self.add("write", 10, "open writes a file", node)

    def look_While(self, node):
        if guard_is(node.test, "Constant") and node.test.value:
            leaves = ("Break", "Return", "Raise", "Yield")
            if not any(guard_is(it, *leaves) for it, _ in guard_nodes(node)):
                self.add("endless", 10, "a loop without an end", node)

    def look_Constant(self, node):
        value = node.value
        if type(value) is int and value >= GUARD_RISK_HUGE:
            self.add("huge", 3, "a very large number", node)
        if type(value) in (str, bytes) and len(value) > 400 and len(value.split()) < 5:
            self.add("blob", 15, "a long text without words", node)

    def look_BinOp(self, node):
        if guard_is(node.op, "Pow") and guard_is(node.right, "BinOp", "Constant"):
            large = getattr(node.right, "value", GUARD_RISK_HUGE)
            if guard_is(node.right, "BinOp") or type(large) is int and large > 100000:
                self.add("power", 8, "a very large power", node)

    def record(self):
        best = sorted(self.points.values(), key=lambda it: -it[0])
        score = min(100, sum(points for points, _ in best))
        return {"score": score,
                "reasons": "\n".join(text for _, text in best[:GUARD_RISK_REASONS])}


GUARD_RISK_LOOKS = guard_table_of(GuardRisk)
