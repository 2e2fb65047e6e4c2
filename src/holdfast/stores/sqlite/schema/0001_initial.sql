-- Every key begins with the tenant. Times are microseconds since 1970, UTC. A missing app, user or agent is ''.

PRAGMA application_id = 0x486F6C64;

CREATE TABLE sequences (
    name TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE settings (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    timezone TEXT NOT NULL,
    language TEXT,
    PRIMARY KEY (tenant, user)
) STRICT, WITHOUT ROWID;

-- One scope and one space (memory, message, archive): what full text and vectors are grouped by.
CREATE TABLE partitions (
    tenant TEXT NOT NULL,
    partition INTEGER NOT NULL,
    app TEXT NOT NULL,
    user TEXT NOT NULL,
    agent TEXT NOT NULL,
    space TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 0,
    units INTEGER NOT NULL DEFAULT 0,
    terms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, partition)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX partitions_by_scope ON partitions (tenant, user, app, agent, space);

CREATE TABLE sessions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    app TEXT NOT NULL,
    user TEXT NOT NULL,
    agent TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    ended_at INTEGER,
    digested_to INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_activity ON sessions (tenant, status, last_at);
CREATE INDEX sessions_by_user ON sessions (tenant, user, app, agent);

CREATE TABLE messages (
    tenant TEXT NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    session TEXT NOT NULL,
    partition INTEGER NOT NULL,
    role TEXT NOT NULL,
    speaker TEXT,
    client_id TEXT,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    origin TEXT NOT NULL,
    action TEXT,
    language TEXT,
    hash BLOB NOT NULL,
    PRIMARY KEY (tenant, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX messages_by_id ON messages (tenant, id);
CREATE INDEX messages_by_session ON messages (tenant, session, seq);
CREATE UNIQUE INDEX messages_by_client ON messages (tenant, session, client_id) WHERE client_id IS NOT NULL;
CREATE INDEX messages_by_time ON messages (tenant, at);

-- A row a revision; the present one has no recorded_to. Only last_used_at, last_seen_at and expires_at are
-- written in place, and are not part of the hash.
CREATE TABLE memories (
    tenant TEXT NOT NULL,
    item INTEGER NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    partition INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    key TEXT,
    topic TEXT,
    importance REAL NOT NULL,
    tags TEXT NOT NULL,
    metadata TEXT NOT NULL,
    origin TEXT NOT NULL,
    trust REAL NOT NULL,
    sources TEXT NOT NULL,
    pinned INTEGER NOT NULL,
    language TEXT,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER,
    expires_at INTEGER,
    last_used_at INTEGER,
    last_seen_at INTEGER,
    retired_at INTEGER,
    replaced_by TEXT,
    reason TEXT,
    content_hash TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    recorded_to INTEGER,
    hash BLOB NOT NULL,
    PRIMARY KEY (tenant, item)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX memories_by_id ON memories (tenant, id, revision);
CREATE INDEX memories_by_kind ON memories (tenant, partition, kind, key) WHERE recorded_to IS NULL;
CREATE INDEX memories_by_content ON memories (tenant, partition, content_hash) WHERE recorded_to IS NULL;
CREATE INDEX memories_by_change ON memories (tenant, partition, updated_at) WHERE recorded_to IS NULL;
CREATE INDEX memories_pinned ON memories (tenant, partition) WHERE recorded_to IS NULL AND pinned = 1;
CREATE INDEX memories_by_expiry ON memories (tenant, expires_at) WHERE recorded_to IS NULL AND expires_at IS NOT NULL;
CREATE INDEX memories_retired ON memories (tenant, status, retired_at) WHERE recorded_to IS NULL AND status <> 'live';
CREATE INDEX memories_replaced ON memories (tenant, replaced_by) WHERE replaced_by IS NOT NULL;

-- What a memory was made from: messages or other memories.
CREATE TABLE provenance (
    tenant TEXT NOT NULL,
    source TEXT NOT NULL,
    memory TEXT NOT NULL,
    PRIMARY KEY (tenant, source, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX provenance_by_memory ON provenance (tenant, memory);

CREATE TABLE changes (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    batch TEXT NOT NULL,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    memory TEXT NOT NULL,
    revision INTEGER NOT NULL,
    actor TEXT NOT NULL,
    model TEXT,
    prompt TEXT,
    job TEXT,
    reason TEXT,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX changes_by_memory ON changes (tenant, memory, revision);
CREATE INDEX changes_by_batch ON changes (tenant, batch);

CREATE TABLE jobs (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    effect TEXT NOT NULL,
    state TEXT NOT NULL,
    priority INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    not_before INTEGER NOT NULL,
    lease_until INTEGER,
    worker TEXT,
    finished_at INTEGER,
    cost REAL NOT NULL,
    error TEXT,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX jobs_by_effect ON jobs (tenant, effect);
CREATE INDEX jobs_by_state ON jobs (tenant, state, priority, not_before);

-- A window of a message or memory: the unit that is searched. Its terms are kept so that they can be taken
-- out of the full-text index again, whatever later versions make of the same text.
CREATE TABLE units (
    tenant TEXT NOT NULL,
    item INTEGER NOT NULL,
    window INTEGER NOT NULL,
    partition INTEGER NOT NULL,
    start INTEGER NOT NULL,
    length INTEGER NOT NULL,
    terms TEXT NOT NULL,
    PRIMARY KEY (tenant, item, window)
) STRICT, WITHOUT ROWID;
CREATE INDEX units_by_partition ON units (tenant, partition);

-- Terms are made by holdfast.text.terms (folded, stemmed) and only split here. They carry their partition ("p12xcoffee"),
-- so that a search reads only the postings its reader may see.
-- rowid = item * 4096 + window.
CREATE VIRTUAL TABLE fulltext USING fts5 (terms, content = '', tokenize = "ascii");
INSERT INTO fulltext (fulltext, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (fulltext, row);

CREATE TABLE models (
    tenant TEXT NOT NULL,
    model INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (tenant, model)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX models_by_name ON models (tenant, name);

CREATE TABLE vectors (
    tenant TEXT NOT NULL,
    partition INTEGER NOT NULL,
    model INTEGER NOT NULL,
    item INTEGER NOT NULL,
    window INTEGER NOT NULL,
    scale REAL NOT NULL,
    code BLOB NOT NULL,
    PRIMARY KEY (tenant, partition, model, item, window)
) STRICT, WITHOUT ROWID;

-- What lacks a vector of a model that is wanted.
CREATE TABLE unembedded (
    tenant TEXT NOT NULL,
    model INTEGER NOT NULL,
    partition INTEGER NOT NULL,
    item INTEGER NOT NULL,
    window INTEGER NOT NULL,
    PRIMARY KEY (tenant, model, partition, item, window)
) STRICT, WITHOUT ROWID;

-- The latest changes of each partition's vectors, so that other processes can follow them.
CREATE TABLE vector_log (
    tenant TEXT NOT NULL,
    partition INTEGER NOT NULL,
    version INTEGER NOT NULL,
    item INTEGER NOT NULL,
    PRIMARY KEY (tenant, partition, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE backups (
    tenant TEXT NOT NULL,
    path TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (tenant, path)
) STRICT, WITHOUT ROWID;

-- What the query planner should believe: few tenants, many rows. Left to guess, it takes `tenant = ?` for a
-- selective condition and walks whole tables; measured from the data, plans would change as a file grows.
ANALYZE;
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('partitions', 'partitions', '100000 100000 1'),
    ('partitions', 'partitions_by_scope', '100000 100000 3 3 3 1'),
    ('sessions', 'sessions', '100000 100000 1'),
    ('sessions', 'sessions_by_activity', '100000 100000 30000 1'),
    ('sessions', 'sessions_by_user', '100000 100000 100 50 20'),
    ('messages', 'messages', '1000000 1000000 1'),
    ('messages', 'messages_by_id', '1000000 1000000 1'),
    ('messages', 'messages_by_session', '1000000 1000000 20 1'),
    ('messages', 'messages_by_client', '1000000 1000000 20 1'),
    ('messages', 'messages_by_time', '1000000 1000000 1'),
    ('memories', 'memories', '1000000 1000000 1'),
    ('memories', 'memories_by_id', '1000000 1000000 2 1'),
    ('memories', 'memories_by_kind', '1000000 1000000 200 50 2'),
    ('memories', 'memories_by_content', '1000000 1000000 200 1'),
    ('memories', 'memories_by_change', '1000000 1000000 200 1'),
    ('memories', 'memories_pinned', '1000 1000 2'),
    ('memories', 'memories_by_expiry', '10000 10000 1'),
    ('memories', 'memories_retired', '100000 100000 50000 1'),
    ('memories', 'memories_replaced', '100000 100000 1'),
    ('provenance', 'provenance', '1000000 1000000 2 1'),
    ('provenance', 'provenance_by_memory', '1000000 1000000 2'),
    ('changes', 'changes', '1000000 1000000 1'),
    ('changes', 'changes_by_memory', '1000000 1000000 2 1'),
    ('changes', 'changes_by_batch', '1000000 1000000 2'),
    ('jobs', 'jobs', '10000 10000 1'),
    ('jobs', 'jobs_by_effect', '10000 10000 1'),
    ('jobs', 'jobs_by_state', '10000 10000 2500 500 1'),
    ('units', 'units', '1000000 1000000 1 1'),
    ('units', 'units_by_partition', '1000000 1000000 200'),
    ('vectors', 'vectors', '1000000 1000000 200 200 1 1'),
    ('unembedded', 'unembedded', '10000 10000 5000 50 1 1'),
    ('vector_log', 'vector_log', '100000 100000 500 1');
ANALYZE sqlite_schema;
