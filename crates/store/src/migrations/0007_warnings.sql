-- How many warnings an agent's report had: what it says and the facts do not.

ALTER TABLE agents ADD COLUMN warnings INTEGER NOT NULL DEFAULT 0;
UPDATE agents SET warnings = coalesce(
    (SELECT json_array_length(m.metadata_json, '$.warnings') FROM prompts m
     WHERE m.id = agents.message_id AND json_valid(m.metadata_json)), 0);
