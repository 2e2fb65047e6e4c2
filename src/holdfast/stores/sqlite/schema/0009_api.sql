-- JSON that the caller attached to a message. It is returned as given and never searched.
ALTER TABLE messages ADD COLUMN payload TEXT;

-- The labels of a memory's namespace, each followed by a unit separator (U+001F). '' means no namespace.
ALTER TABLE memories ADD COLUMN namespace TEXT NOT NULL DEFAULT '';
-- The texts to search instead of the memory's own text, separated by a unit separator. NULL means the own text, '' means none.
ALTER TABLE memories ADD COLUMN indexed TEXT;
CREATE INDEX memories_by_namespace ON memories (tenant, partition, namespace, key)
    WHERE recorded_to IS NULL AND namespace <> '';

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('memories', 'memories_by_namespace', '100000 100000 500 20 1');
ANALYZE sqlite_schema;
