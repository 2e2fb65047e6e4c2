-- The apps that were installed or uninstalled. `sharing` lists, as JSON, the apps that may read this one's memories;
-- "*" is every app.
CREATE TABLE apps (
    tenant TEXT NOT NULL,
    app TEXT NOT NULL,
    name TEXT,
    installed_at INTEGER,
    uninstalled_at INTEGER,
    sharing TEXT NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (tenant, app)
) STRICT, WITHOUT ROWID;
CREATE INDEX apps_sharing ON apps (tenant) WHERE sharing <> '[]' AND uninstalled_at IS NULL;

-- What was done lately, for metrics.
CREATE INDEX changes_by_time ON changes (tenant, at);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('apps', 'apps', '1000 1000 1'),
    ('apps', 'apps_sharing', '10 10'),
    ('changes', 'changes_by_time', '1000000 1000000 1');
ANALYZE sqlite_schema;
