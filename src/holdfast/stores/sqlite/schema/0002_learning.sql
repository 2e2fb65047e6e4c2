-- What models have cost, a row a day, purpose and model. It names nobody.
CREATE TABLE spend (
    tenant TEXT NOT NULL,
    day TEXT NOT NULL,
    purpose TEXT NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    cost REAL NOT NULL,
    unpriced INTEGER NOT NULL,
    energy REAL NOT NULL,
    PRIMARY KEY (tenant, day, purpose, model)
) STRICT, WITHOUT ROWID;

-- What was said in a scope, in order: roll-ups go by scope, across sessions.
CREATE INDEX messages_by_partition ON messages (tenant, partition, seq);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('spend', 'spend', '10000 10000 10 2 1'),
    ('messages', 'messages_by_partition', '1000000 1000000 200 1');
ANALYZE sqlite_schema;
