# SPDX-License-Identifier: Apache-2.0
"""Programs from text files: payloads that try to escape, and ordinary ones.

Each starts with a line `### name`. In payloads $CMD is a shell command that prints a known word and
writes to a file of the host, $PATH that file, $PORT a port with a listener on the host, and
$<<...>> python that makes text.
"""

import itertools
import pathlib
import re

HERE = pathlib.Path(__file__).parent
# A shell that runs it prints the word; text that is only printed does not contain it.
CMD = "echo ESCA${x}PED; cat %s; echo owned >> %s"


def read(path):
    parts = re.split(r"(?m)^### (.*)\n", path.read_text())[1:]
    return list(zip(parts[::2], parts[1::2]))


def make(text):
    return re.sub(r"\$<<(.*?)>>", lambda m: eval(m[1]), text)


# --- the classic, in all its combinations --------------------------------------------------------

ROOTS = ["()", "[]", "{}", "''", "b''", "(1)", "1.5", "True", "None", "print", "(lambda: 0)",
         "(x for x in ())", "object()", "range(1)", "Ellipsis", "{*()}", "1j", "slice(1)",
         "ValueError()", "memoryview(b'')"]
CLASSES = ["%s.__class__", "type(%s)", "getattr(%s, '__class__')"]
TOPS = ["%s.__mro__[-1]", "%s.mro()[-1]", "getattr(%s, '__mr' 'o__')[-1]"]
SINKS = [
    "[c for c in %s.__subclasses__() if c.__name__ == '_wrap_close'][0]"
    ".__init__.__globals__['system']('$CMD')",
    "[c for c in %s.__subclasses__() if c.__name__ == 'BuiltinImporter'][0]"
    ".load_module('posix').system('$CMD')",
    "[c for c in getattr(%s, '__subclasses__')() if c.__name__ == 'Quitter'][0]"
    ".__init__.__globals__['__builtins__']['exec'](\"print('ESCA' 'PED')\")",
]


def combinations():
    ways = list(itertools.product(ROOTS, CLASSES, TOPS))
    for number, (root, kind, top) in enumerate(ways):
        text = SINKS[number % len(SINKS)] % (top % (kind % root))
        yield f"combined: {number}: {kind % root}, {top % '...'}", f"print({text})\n"


def payloads(path, port):
    found = [it for file in sorted((HERE / "payloads").glob("*.txt")) for it in read(file)]
    for name, text in [*found, *combinations()]:
        text = make(text).replace("$CMD", CMD % (path, path))
        yield name, text.replace("$PATH", str(path)).replace("$PORT", str(port))


def ordinary():
    return [it for file in sorted((HERE / "ordinary").glob("*.txt")) for it in read(file)]
