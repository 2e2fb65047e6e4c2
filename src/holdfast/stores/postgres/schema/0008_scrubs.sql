-- The scrubs of this database. One scrub removes the erased bytes of all tenants, so the table has no tenant.
-- `snapshot` is the server's state when the scrub began: it covers the erasures that the snapshot sees as ended.
CREATE TABLE scrubs (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    snapshot pg_snapshot NOT NULL DEFAULT pg_current_snapshot(),
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    unreachable text COLLATE "C" NOT NULL DEFAULT '[]'
);
