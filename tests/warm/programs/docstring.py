"""The program's text."""
# value: "The program's text."
