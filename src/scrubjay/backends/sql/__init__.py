"""SQLite and PostgreSQL through SQLAlchemy Core: records, text index, migrations."""
