# env: {"PYTHONHASHSEED": "7", "PYTHONWARNINGS": "error::UserWarning"}
import sys
import warnings

print(hash("fixed"), sys.flags.hash_randomization, sys.warnoptions)
warnings.warn("becomes an error")
