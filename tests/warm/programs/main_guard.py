def main():
    return 0


if __name__ == "__main__":
    import sys

    print("guarded")
    sys.exit(main())
