-- The id of a session is unique within a scope: two users can have sessions with the same id.
CREATE TABLE scoped_sessions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    app TEXT NOT NULL,
    user TEXT NOT NULL,
    agent TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    ended_at INTEGER,
    digested_to INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (tenant, id, app, user, agent)
) STRICT, WITHOUT ROWID;
INSERT INTO scoped_sessions (tenant, id, app, user, agent, status, started_at, last_at, ended_at, digested_to, metadata)
    SELECT tenant, id, app, user, agent, status, started_at, last_at, ended_at, digested_to, metadata FROM sessions;
DROP TABLE sessions;
ALTER TABLE scoped_sessions RENAME TO sessions;
CREATE INDEX sessions_by_activity ON sessions (tenant, status, last_at);
CREATE INDEX sessions_by_user ON sessions (tenant, user, app, agent);

-- The same holds for the ids that clients give their messages.
DROP INDEX messages_by_client;
CREATE UNIQUE INDEX messages_by_client ON messages (tenant, session, partition, client_id) WHERE client_id IS NOT NULL;

DELETE FROM sqlite_stat1 WHERE tbl IN ('sessions', 'scoped_sessions') OR idx = 'messages_by_client';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('messages', 'messages_by_client', '1000000 1000000 20 20 1'),
    ('sessions', 'sessions', '100000 100000 1 1 1 1'),
    ('sessions', 'sessions_by_activity', '100000 100000 30000 1'),
    ('sessions', 'sessions_by_user', '100000 100000 100 50 20');
ANALYZE sqlite_schema;
