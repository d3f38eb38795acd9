print('no newline at the end')
1 / 0