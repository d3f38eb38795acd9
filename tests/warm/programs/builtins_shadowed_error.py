BaseException = Exception = SystemExit = 3
sys = None
raise ValueError("still reported")
