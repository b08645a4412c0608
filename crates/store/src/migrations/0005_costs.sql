-- What is not known of the cost is counted, and what is deleted leaves no trace in the search index.

ALTER TABLE sessions ADD COLUMN cost_unknown INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN cost_unknown INTEGER NOT NULL DEFAULT 0;
-- The cost of an older agent is known as a whole, or not at all.
UPDATE agents SET cost_unknown = turns WHERE cost_usd IS NULL;
UPDATE sessions SET cost_unknown =
    coalesce((SELECT sum(a.cost_unknown) FROM agents a WHERE a.session_id = sessions.id), 0);

-- Without it a deleted word stays in the index until that part of it is merged with another.
INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1);
INSERT INTO search_words (search_words, rank) VALUES ('secure-delete', 1);
