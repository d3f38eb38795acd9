# args: ["one", "two words", "", "-c", "--help", "umlaut \u00e4"]
import sys
print(sys.argv, len(sys.argv))
print(getattr(sys, "orig_argv", [None])[1:])
