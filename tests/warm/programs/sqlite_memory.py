import sqlite3

with sqlite3.connect(":memory:") as db:
    db.execute("create table t (x integer)")
    db.executemany("insert into t values (?)", [(i,) for i in range(5)])
    print(db.execute("select sum(x) from t").fetchone())
    db.execute("select * from nothing")
