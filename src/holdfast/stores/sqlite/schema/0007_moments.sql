-- What was said in a scope at a time: a question may name one.
CREATE INDEX messages_by_moment ON messages (tenant, partition, at);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('messages', 'messages_by_moment', '1000000 1000000 200 1');
ANALYZE sqlite_schema;
