import threading

main = threading.main_thread()
print(main is threading.current_thread(), main.name, main.ident == threading.get_ident())
print(main.native_id == threading.get_native_id())
print(threading.active_count(), threading.enumerate() == [main])
