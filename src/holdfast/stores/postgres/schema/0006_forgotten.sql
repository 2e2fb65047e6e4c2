-- Messages that a wish of their user has hidden. Housekeeping erases them after the undo window.
CREATE INDEX messages_forgotten ON messages (tenant, action) WHERE action LIKE 'forgotten:%';
