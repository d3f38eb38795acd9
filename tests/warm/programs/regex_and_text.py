import re
import string
import textwrap

print(re.findall(r"(\w+)@(\w+)", "a@b c@d"), re.sub("[aeiou]", lambda m: m[0].upper(), "education"))
print(textwrap.fill("the quick brown fox " * 3, 20), string.Template("$x").substitute(x=1))
re.compile("(")
