-- Keys that open the server. They are kept in the rows of the tenant the server was opened with; `opens` is the tenant
-- they give access to. '' means that a key is not bound to a user, app or agent.
CREATE TABLE keys (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    hash BLOB NOT NULL,
    level TEXT NOT NULL,
    label TEXT,
    opens TEXT NOT NULL,
    user TEXT NOT NULL,
    app TEXT NOT NULL,
    agent TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- Answers to requests that may be sent again. `status` is missing while the first one is under way.
CREATE TABLE idempotency (
    tenant TEXT NOT NULL,
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    request BLOB NOT NULL,
    at INTEGER NOT NULL,
    status INTEGER,
    headers TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant, principal, key)
) STRICT;
CREATE INDEX idempotency_by_time ON idempotency (tenant, at);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('keys', 'keys', '1000 1000 1'),
    ('idempotency', 'sqlite_autoindex_idempotency_1', '10000 10000 100 1'),
    ('idempotency', 'idempotency_by_time', '10000 10000 1');
ANALYZE sqlite_schema;
