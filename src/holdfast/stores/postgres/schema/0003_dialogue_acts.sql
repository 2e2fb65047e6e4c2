-- What a message does: ask, request, state, reply or small talk. NULL in messages that an older version stored.
ALTER TABLE messages ADD COLUMN act TEXT;
-- 1 if a part of the message asks or requests something.
ALTER TABLE messages ADD COLUMN asks BIGINT;
-- The question that the message before ends with, and the number of the message that contains the question.
ALTER TABLE messages ADD COLUMN asked TEXT;
ALTER TABLE messages ADD COLUMN answers BIGINT;
CREATE INDEX messages_by_question ON messages (tenant, answers) WHERE answers IS NOT NULL;
