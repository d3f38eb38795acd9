import __main__
import sys


def main(arguments):
    print(__name__, __main__.__file__ == sys.argv[0], sys.argv)
    print(__spec__, __package__, __doc__, __builtins__.__name__)
    return len(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
