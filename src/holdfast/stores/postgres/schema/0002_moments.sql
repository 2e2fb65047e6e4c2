-- What was said in a scope at a time: a question may name one.
CREATE INDEX messages_by_moment ON messages (tenant, partition, at);
