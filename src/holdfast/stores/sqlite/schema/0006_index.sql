-- An index of vectors outside this file, one for each model: where it is kept, which build of it counts, the mark of the last
-- changes that reached it, and the mark of those that are under way. `removed` counts what was removed since the build was begun: its files may still hold that.
CREATE TABLE indexes (
    tenant TEXT NOT NULL,
    model INTEGER NOT NULL,
    place TEXT NOT NULL,
    home TEXT NOT NULL,
    build TEXT NOT NULL,
    mark TEXT NOT NULL,
    next TEXT NOT NULL,
    removed INTEGER NOT NULL,
    PRIMARY KEY (tenant, model)
) STRICT, WITHOUT ROWID;

-- Vectors whose state in that index is not yet what it is here. The mark tells a later change of the same vector from this one.
CREATE TABLE index_queue (
    tenant TEXT NOT NULL,
    model INTEGER NOT NULL,
    partition INTEGER NOT NULL,
    item INTEGER NOT NULL,
    window INTEGER NOT NULL,
    mark INTEGER NOT NULL,
    PRIMARY KEY (tenant, model, partition, item, window)
) STRICT, WITHOUT ROWID;

-- Triggers, so that the queue is right whichever program writes, and whatever it knows of the index.
CREATE TRIGGER vectors_added AFTER INSERT ON vectors
WHEN EXISTS (SELECT 1 FROM indexes WHERE tenant = new.tenant AND model = new.model)
BEGIN
    INSERT OR REPLACE INTO index_queue (tenant, model, partition, item, window, mark)
    VALUES (new.tenant, new.model, new.partition, new.item, new.window, random());
END;
CREATE TRIGGER vectors_changed AFTER UPDATE ON vectors
WHEN EXISTS (SELECT 1 FROM indexes WHERE tenant = new.tenant AND model = new.model)
BEGIN
    INSERT OR REPLACE INTO index_queue (tenant, model, partition, item, window, mark)
    VALUES (old.tenant, old.model, old.partition, old.item, old.window, random()),
        (new.tenant, new.model, new.partition, new.item, new.window, random());
END;
CREATE TRIGGER vectors_removed AFTER DELETE ON vectors
WHEN EXISTS (SELECT 1 FROM indexes WHERE tenant = old.tenant AND model = old.model)
BEGIN
    INSERT OR REPLACE INTO index_queue (tenant, model, partition, item, window, mark)
    VALUES (old.tenant, old.model, old.partition, old.item, old.window, random());
    UPDATE indexes SET removed = removed + 1 WHERE tenant = old.tenant AND model = old.model;
END;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('indexes', 'indexes', '10 10 1'),
    ('index_queue', 'index_queue', '10000 10000 5000 50 1 1');
ANALYZE sqlite_schema;
