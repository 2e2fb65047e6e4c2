-- The id of a session is unique within a scope: two users can have sessions with the same id.
ALTER TABLE sessions DROP CONSTRAINT sessions_pkey;
ALTER TABLE sessions ADD PRIMARY KEY (tenant, id, app, "user", agent);

-- The same holds for the ids that clients give their messages.
DROP INDEX messages_by_client;
CREATE UNIQUE INDEX messages_by_client ON messages (tenant, session, partition, client_id) WHERE client_id IS NOT NULL;
