-- What a message does: ask, request, state, reply or small talk. NULL in messages that an older version stored.
ALTER TABLE messages ADD COLUMN act TEXT;
-- 1 if a part of the message asks or requests something.
ALTER TABLE messages ADD COLUMN asks INTEGER;
-- The question that the message before ends with, and the number of the message that contains the question.
ALTER TABLE messages ADD COLUMN asked TEXT;
ALTER TABLE messages ADD COLUMN answers INTEGER;
CREATE INDEX messages_by_question ON messages (tenant, answers) WHERE answers IS NOT NULL;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('messages', 'messages_by_question', '100000 100000 1');
ANALYZE sqlite_schema;
