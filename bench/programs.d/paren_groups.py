def separate_groups(text):
    groups, depth, current = [], 0, []
    for char in text.replace(" ", ""):
        depth += 1 if char == "(" else -1
        current.append(char)
        if depth == 0:
            groups.append("".join(current))
            current.clear()
    return groups


assert separate_groups("( ) (( )) (( )( ))") == ["()", "(())", "(()())"]
assert separate_groups("") == []
print(separate_groups("(()()) ((())) () ((())()())"))
