-- How context blocks came about. A trace has the question and the ids of candidates, not their texts.
-- items: the ids of the listed memories and messages, separated by spaces. body: the other fields as JSON.
CREATE TABLE traces (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    app text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL,
    agent text COLLATE "C" NOT NULL,
    session text COLLATE "C",
    message text COLLATE "C",
    at bigint NOT NULL,
    question text COLLATE "C" NOT NULL,
    items text COLLATE "C" NOT NULL,
    body text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX traces_by_time ON traces (tenant, at);
CREATE INDEX traces_by_session ON traces (tenant, session) WHERE session IS NOT NULL;

-- Nobody sees another tenant's rows, whatever a statement forgets.
ALTER TABLE traces ENABLE ROW LEVEL SECURITY;
ALTER TABLE traces FORCE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON traces
    USING (tenant = current_setting('holdfast.tenant')) WITH CHECK (tenant = current_setting('holdfast.tenant'));

-- The planner keeps no samples of texts beside the tables.
ALTER TABLE traces ALTER COLUMN question SET STATISTICS 0;
ALTER TABLE traces ALTER COLUMN items SET STATISTICS 0;
ALTER TABLE traces ALTER COLUMN body SET STATISTICS 0;
