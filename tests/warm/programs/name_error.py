print(undefined_thing)
