import logging
import warnings

warnings.warn("this is old", DeprecationWarning)
warnings.warn("this is odd")
logging.basicConfig(format="%(levelname)s:%(name)s:%(message)s")
logging.getLogger("work").warning("took %d steps", 3)
