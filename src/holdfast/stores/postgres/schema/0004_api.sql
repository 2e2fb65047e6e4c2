-- JSON that the caller attached to a message. It is returned as given and never searched.
ALTER TABLE messages ADD COLUMN payload text COLLATE "C";

-- The labels of a memory's namespace, each followed by a unit separator (U+001F). '' means no namespace.
ALTER TABLE memories ADD COLUMN namespace text COLLATE "C" NOT NULL DEFAULT '';
-- The texts to search instead of the memory's own text, separated by a unit separator. NULL means the own text, '' means none.
ALTER TABLE memories ADD COLUMN indexed text COLLATE "C";
CREATE INDEX memories_by_namespace ON memories (tenant, partition, namespace, hashtextextended(key, 0))
    WHERE recorded_to IS NULL AND namespace <> '';

-- Keys may be longer than an entry of a B-tree, so the index contains their hashes.
DROP INDEX memories_by_kind;
CREATE INDEX memories_by_kind ON memories (tenant, partition, kind, hashtextextended(key, 0)) WHERE recorded_to IS NULL;

-- The planner keeps no samples of texts beside the tables.
ALTER TABLE messages ALTER COLUMN payload SET STATISTICS 0;
ALTER TABLE memories ALTER COLUMN indexed SET STATISTICS 0;
