# env: {"HOME": "/nonexistent/home", "TMPDIR": "/var/tmp"}
import os
import site
import tempfile

print(os.path.expanduser("~/x"), site.USER_BASE, site.USER_SITE, tempfile.gettempdir())
