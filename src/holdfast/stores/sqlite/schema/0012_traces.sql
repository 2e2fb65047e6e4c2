-- How context blocks came about. A trace has the question and the ids of candidates, not their texts.
-- items: the ids of the listed memories and messages, separated by spaces. body: the other fields as JSON.
CREATE TABLE traces (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    app TEXT NOT NULL,
    user TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT,
    message TEXT,
    at INTEGER NOT NULL,
    question TEXT NOT NULL,
    items TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX traces_by_time ON traces (tenant, at);
CREATE INDEX traces_by_session ON traces (tenant, session) WHERE session IS NOT NULL;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('traces', 'sqlite_autoindex_traces_1', '1000 1000 1'),
    ('traces', 'traces_by_time', '1000 1000 1'),
    ('traces', 'traces_by_session', '1000 1000 10');
ANALYZE sqlite_schema;
