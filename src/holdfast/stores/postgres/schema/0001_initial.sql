-- Every key begins with the tenant. Times are microseconds since 1970, UTC. A missing app, user or agent is ''.
-- Tables and columns have the names they have in SQLite, so that rows can be copied from one to the other.

-- Numbers that are never given twice. Sequences, so that writers do not wait for each other's commit.
CREATE SEQUENCE item_numbers;
CREATE SEQUENCE partition_numbers;
CREATE SEQUENCE model_numbers;

CREATE TABLE settings (
    tenant text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, name)
);

CREATE TABLE users (
    tenant text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    timezone text COLLATE "C" NOT NULL,
    language text COLLATE "C",
    PRIMARY KEY (tenant, "user")
);

-- One scope and one space (memory, message, archive): what full text and vectors are grouped by.
CREATE TABLE partitions (
    tenant text COLLATE "C" NOT NULL,
    partition bigint NOT NULL,
    app text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    agent text COLLATE "C" NOT NULL,
    space text COLLATE "C" NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    units bigint NOT NULL DEFAULT 0,
    terms bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, partition)
);
CREATE UNIQUE INDEX partitions_by_scope ON partitions (tenant, "user", app, agent, space);

CREATE TABLE sessions (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    app text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    agent text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    started_at bigint NOT NULL,
    last_at bigint NOT NULL,
    ended_at bigint,
    digested_to bigint NOT NULL,
    metadata text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX sessions_by_activity ON sessions (tenant, status, last_at);
CREATE INDEX sessions_by_user ON sessions (tenant, "user", app, agent);

CREATE TABLE messages (
    tenant text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    partition bigint NOT NULL,
    role text COLLATE "C" NOT NULL,
    speaker text COLLATE "C",
    client_id text COLLATE "C",
    text text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    origin text COLLATE "C" NOT NULL,
    action text COLLATE "C",
    language text COLLATE "C",
    hash bytea NOT NULL,
    PRIMARY KEY (tenant, seq)
);
CREATE UNIQUE INDEX messages_by_id ON messages (tenant, id);
CREATE INDEX messages_by_session ON messages (tenant, session, seq);
CREATE UNIQUE INDEX messages_by_client ON messages (tenant, session, client_id) WHERE client_id IS NOT NULL;
CREATE INDEX messages_by_time ON messages (tenant, at);

-- A row a revision; the present one has no recorded_to. Only last_used_at, last_seen_at and expires_at are
-- written in place, and are not part of the hash.
CREATE TABLE memories (
    tenant text COLLATE "C" NOT NULL,
    item bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    partition bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL,
    key text COLLATE "C",
    topic text COLLATE "C",
    importance double precision NOT NULL,
    tags text COLLATE "C" NOT NULL,
    metadata text COLLATE "C" NOT NULL,
    origin text COLLATE "C" NOT NULL,
    trust double precision NOT NULL,
    sources text COLLATE "C" NOT NULL,
    pinned bigint NOT NULL,
    language text COLLATE "C",
    status text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    valid_from bigint NOT NULL,
    valid_to bigint,
    expires_at bigint,
    last_used_at bigint,
    last_seen_at bigint,
    retired_at bigint,
    replaced_by text COLLATE "C",
    reason text COLLATE "C",
    content_hash text COLLATE "C" NOT NULL,
    recorded_at bigint NOT NULL,
    recorded_to bigint,
    hash bytea NOT NULL,
    PRIMARY KEY (tenant, item)
);
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
    tenant text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    memory text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, source, memory)
);
CREATE INDEX provenance_by_memory ON provenance (tenant, memory);

CREATE TABLE changes (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    batch text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    action text COLLATE "C" NOT NULL,
    memory text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    actor text COLLATE "C" NOT NULL,
    model text COLLATE "C",
    prompt text COLLATE "C",
    job text COLLATE "C",
    reason text COLLATE "C",
    PRIMARY KEY (tenant, id)
);
CREATE INDEX changes_by_memory ON changes (tenant, memory, revision);
CREATE INDEX changes_by_batch ON changes (tenant, batch);

CREATE TABLE jobs (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    payload text COLLATE "C" NOT NULL,
    effect text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    priority bigint NOT NULL,
    attempt bigint NOT NULL,
    created_at bigint NOT NULL,
    not_before bigint NOT NULL,
    lease_until bigint,
    worker text COLLATE "C",
    finished_at bigint,
    cost double precision NOT NULL,
    error text COLLATE "C",
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX jobs_by_effect ON jobs (tenant, effect);
CREATE INDEX jobs_by_state ON jobs (tenant, state, priority, not_before);

-- A window of a message or memory: the unit that is searched. Its terms are what it is ranked by,
-- and how its postings are found again.
CREATE TABLE units (
    tenant text COLLATE "C" NOT NULL,
    item bigint NOT NULL,
    "window" bigint NOT NULL,
    partition bigint NOT NULL,
    start bigint NOT NULL,
    length bigint NOT NULL,
    terms text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, item, "window")
);
CREATE INDEX units_by_partition ON units (tenant, partition);

-- Where each term stands: made by holdfast.text.terms (folded, stemmed), with how often it stands in the window and how
-- many terms the window has. A search reads the postings of its reader's own partitions and no others.
CREATE TABLE postings (
    tenant text COLLATE "C" NOT NULL,
    partition bigint NOT NULL,
    term text COLLATE "C" NOT NULL,
    item bigint NOT NULL,
    "window" integer NOT NULL,
    frequency integer NOT NULL,
    length integer NOT NULL,
    PRIMARY KEY (tenant, partition, term, item, "window")
);

CREATE TABLE models (
    tenant text COLLATE "C" NOT NULL,
    model bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, model)
);
CREATE UNIQUE INDEX models_by_name ON models (tenant, name);

-- Large partitions have an HNSW index each, made when the store is tidied; it holds one tenant, partition and model.
CREATE TABLE vectors (
    tenant text COLLATE "C" NOT NULL,
    partition bigint NOT NULL,
    model bigint NOT NULL,
    item bigint NOT NULL,
    "window" bigint NOT NULL,
    embedding halfvec NOT NULL,
    PRIMARY KEY (tenant, partition, model, item, "window")
);
-- Neither texts nor vectors are ever compared by the planner: no samples of them are kept beside the tables.
ALTER TABLE vectors ALTER COLUMN embedding SET STATISTICS 0;
ALTER TABLE units ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE messages ALTER COLUMN text SET STATISTICS 0;
ALTER TABLE memories ALTER COLUMN text SET STATISTICS 0;

-- What lacks a vector of a model that is wanted.
CREATE TABLE unembedded (
    tenant text COLLATE "C" NOT NULL,
    model bigint NOT NULL,
    partition bigint NOT NULL,
    item bigint NOT NULL,
    "window" bigint NOT NULL,
    PRIMARY KEY (tenant, model, partition, item, "window")
);

CREATE TABLE backups (
    tenant text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (tenant, path)
);

-- What models have cost, a row a day, purpose and model. It names nobody.
CREATE TABLE spend (
    tenant text COLLATE "C" NOT NULL,
    day text COLLATE "C" NOT NULL,
    purpose text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    calls bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    seconds double precision NOT NULL,
    cost double precision NOT NULL,
    unpriced bigint NOT NULL,
    energy double precision NOT NULL,
    PRIMARY KEY (tenant, day, purpose, model)
);

-- What was said in a scope, in order: roll-ups go by scope, across sessions.
CREATE INDEX messages_by_partition ON messages (tenant, partition, seq);

-- The apps that were installed or uninstalled. `sharing` lists, as JSON, the apps that may read this one's memories;
-- "*" is every app.
CREATE TABLE apps (
    tenant text COLLATE "C" NOT NULL,
    app text COLLATE "C" NOT NULL,
    name text COLLATE "C",
    installed_at bigint,
    uninstalled_at bigint,
    sharing text COLLATE "C" NOT NULL,
    metadata text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, app)
);
CREATE INDEX apps_sharing ON apps (tenant) WHERE sharing <> '[]' AND uninstalled_at IS NULL;

-- What was done lately, for metrics.
CREATE INDEX changes_by_time ON changes (tenant, at);

-- The lines of pages: few memories have a topic, and they are looked up by it.
CREATE INDEX memories_by_topic ON memories (tenant, partition, topic) WHERE recorded_to IS NULL AND topic IS NOT NULL;

-- Keys that open the server. They are kept in the rows of the tenant the server was opened with; `opens` is the tenant
-- they give access to. '' means that a key is not bound to a user, app or agent.
CREATE TABLE keys (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    hash bytea NOT NULL,
    level text COLLATE "C" NOT NULL,
    label text COLLATE "C",
    opens text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    app text COLLATE "C" NOT NULL,
    agent text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint,
    PRIMARY KEY (tenant, id)
);

-- Answers to requests that may be sent again. `status` is missing while the first one is under way.
CREATE TABLE idempotency (
    tenant text COLLATE "C" NOT NULL,
    principal text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    request bytea NOT NULL,
    at bigint NOT NULL,
    status bigint,
    headers text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (tenant, principal, key)
);
CREATE INDEX idempotency_by_time ON idempotency (tenant, at);

-- Nobody sees another tenant's rows, whatever a statement forgets. The one exception is explicit: who erases a scope may
-- remove the keys that open it from whoever's rows they are kept in, and names that tenant in holdfast.opens for it.
DO $$
DECLARE
    named text;
    own constant text := $policy$tenant = current_setting('holdfast.tenant')$policy$;
    opened constant text := $policy$ OR opens = nullif(current_setting('holdfast.opens', true), '')$policy$;
BEGIN
    FOR named IN
        SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
        WHERE relkind = 'r' AND attname = 'tenant' AND relnamespace = current_schema()::regnamespace
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', named);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', named);
        EXECUTE format('CREATE POLICY own_rows ON %I USING (%s) WITH CHECK (%s)',
            named, own || CASE WHEN named = 'keys' THEN opened ELSE '' END, own);
    END LOOP;
END
$$;
