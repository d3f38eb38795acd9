import logging
import sys

logging.warning("to stderr by default")
form = "%(levelname)s %(name)s %(funcName)s %(lineno)d"
logging.basicConfig(stream=sys.stdout, format=form, force=True)


def f():
    logging.getLogger("mine").error("x", stack_info=True)
    try:
        1 / 0
    except ZeroDivisionError:
        logging.exception("failed")


f()
record = logging.LogRecord("n", 10, "p", 1, "m", None, None)
print(record.relativeCreated < 60000, record.processName, record.threadName)
