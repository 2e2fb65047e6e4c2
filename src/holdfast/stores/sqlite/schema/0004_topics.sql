-- The lines of pages: few memories have a topic, and they are looked up by it.
CREATE INDEX memories_by_topic ON memories (tenant, partition, topic) WHERE recorded_to IS NULL AND topic IS NOT NULL;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('memories', 'memories_by_topic', '100000 100000 500 20');
ANALYZE sqlite_schema;
