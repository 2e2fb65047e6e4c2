-- Messages that a wish of their user has hidden. Housekeeping erases them after the undo window.
CREATE INDEX messages_forgotten ON messages (tenant, action) WHERE action LIKE 'forgotten:%';

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('messages', 'messages_forgotten', '100 100 10');
ANALYZE sqlite_schema;
