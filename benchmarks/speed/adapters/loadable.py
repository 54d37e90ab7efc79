"""Import this before what uses sqlite-vec: it is an extension of SQLite, and the sqlite3 of many Pythons loads none."""

import sys

import pysqlite3

sys.modules["sqlite3"] = pysqlite3
