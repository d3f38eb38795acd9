# SPDX-License-Identifier: Apache-2.0
# The last part: which of its uses this is.

if "serve" in globals():
    be_template(globals()["serve"], globals()["preload"], globals().get("leave"))
elif "WAITING" in globals():
    be_waiting(globals()["WAITING"])
elif sys.argv[1:2] == [globals().get("SESSION_PATH")]:
    globals()["serve_session"](SCRIPT_VALUE_FD, sys.argv[2:])
else:
    be_script()
