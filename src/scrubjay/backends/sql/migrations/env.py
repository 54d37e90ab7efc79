"""Alembic's entry: migrations run on the connection, and in the transaction, that `migrate.upgrade` hands over."""

from alembic import context

from scrubjay.backends.sql.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,  # The transaction is the caller's: all migrations or none.
)
context.run_migrations()
