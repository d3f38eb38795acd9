# SPDX-License-Identifier: Apache-2.0
# The environment of a run, in an interpreter that was started with another.


class Environment:
    """The template's environment, and its replacement by that of a run."""

    CTYPE = (b"LC_ALL", b"LC_CTYPE", b"LANG")  # the first that is not empty counts

    def __init__(self):
        import _locale
        import time

        self.locale, self.time = _locale, time
        self.charset = _locale.nl_langinfo(_locale.CODESET)
        self.before = dict(os.environb)

    def replace(self, after):
        """Replaces python's copy; the C library has the new environment already."""
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
        # The template keeps the old ones.
        os.environ._data = os.environb._data = sys.modules["posix"].environ = after
        if any(name in names for name in self.CTYPE):
            self.locale.setlocale(self.locale.LC_CTYPE, "")
            if self.locale.nl_langinfo(self.locale.CODESET) != self.charset:
                raise Cold
        if b"TZ" in names:
            self.time.tzset()
        if b"HOME" in names and "site" in sys.modules:
            sys.modules["site"].USER_BASE = sys.modules["site"].USER_SITE = None
