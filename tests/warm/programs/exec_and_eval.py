code = compile("def g():\n    return 1 / 0\n", "<made up>", "exec")
space = {}
exec(code, space)
print(eval("1 + x", {"x": 2}), sorted(space))
space["g"]()
