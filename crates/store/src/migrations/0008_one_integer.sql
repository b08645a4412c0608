-- Events are keyed by one integer instead of two texts and an index beside the table: the number of the session, 32 bits
-- further to the left, and the place in it. What people ask is the view `events`, which shows the columns of before.

DROP VIEW messages;

-- What a session is called in the keys of its events.
ALTER TABLE sessions ADD COLUMN number INTEGER;
UPDATE sessions SET number = counted.number
FROM (SELECT id, row_number() OVER (ORDER BY started_at_ms, id) AS number FROM sessions) AS counted
WHERE counted.id = sessions.id;
CREATE UNIQUE INDEX sessions_by_number ON sessions (number);

CREATE TABLE event_rows (
    id         INTEGER PRIMARY KEY,
    agent_id   TEXT    NOT NULL,
    parent_id  TEXT,
    at_ms      INTEGER NOT NULL,
    type       TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    -- How many bytes its body refers to; where there are none, the body is taken as it is.
    blob_bytes INTEGER NOT NULL DEFAULT 0
) STRICT;

-- In the order of the key, so that each row is put behind the one before.
INSERT INTO event_rows (id, agent_id, parent_id, at_ms, type, body, blob_bytes)
SELECT (s.number << 32) + e.seq, e.agent_id, e.parent_id, e.at_ms, e.type, e.body, e.blob_bytes
FROM sessions s CROSS JOIN events e ON e.session_id = s.id
ORDER BY s.number;
DROP TABLE events;

-- Append-only: an event can neither change nor go. A whole session can go: then its row in `sessions` is gone before
-- its events are. No two events can have one place, because that is their key. The writer looks once in every
-- transaction whether a session ends where its row says, so no gap can stay unnoticed; a trigger would look at every event.
CREATE TRIGGER event_rows_never_change BEFORE UPDATE ON event_rows
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER event_rows_never_go BEFORE DELETE ON event_rows
WHEN EXISTS (SELECT 1 FROM sessions WHERE number = OLD.id >> 32)
BEGIN SELECT RAISE(ABORT, 'events are append-only; delete the whole session instead'); END;

CREATE TRIGGER sessions_keep_their_numbers BEFORE UPDATE OF number ON sessions
BEGIN SELECT RAISE(ABORT, 'the number of a session is in the keys of its events'); END;

CREATE TRIGGER sessions_take_their_events_along AFTER DELETE ON sessions
BEGIN DELETE FROM event_rows WHERE id > OLD.number << 32 AND id < (OLD.number + 1) << 32; END;

-- The two conditions say the same: one finds the events of a session, the other the session of an event.
CREATE VIEW events AS
SELECT s.id AS session_id, e.id & 4294967295 AS seq, e.agent_id, e.parent_id, e.at_ms, e.type, e.body, e.blob_bytes, e.id
FROM sessions s JOIN event_rows e
  ON e.id > s.number << 32 AND e.id < (s.number + 1) << 32 AND s.number = e.id >> 32;

CREATE TRIGGER events_never_come INSTEAD OF INSERT ON events
BEGIN SELECT RAISE(ABORT, 'events are put on record by Posse alone'); END;

CREATE TRIGGER events_never_change INSTEAD OF UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER events_never_go INSTEAD OF DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only; delete the whole session instead'); END;

-- As before, but that it finds the events of a call by their keys.
CREATE VIEW messages AS
SELECT
    id, session_id, parent_message_id, started_at, completed_at, duration_ms,
    agent_role, agent_depth, model_id, system_prompt_id,
    request_type, request_content, context_mode, context_token_count,
    response_content, response_summary, tool_calls_json, files_modified_json,
    prompt_tokens, completion_tokens, total_tokens, iteration_count,
    max_iterations, max_duration_ms, bailout_reason, status, error_message, metadata_json,
    agent_id, seq
FROM prompts
UNION ALL
SELECT
    -- Prompts and calls are numbered each for themselves: calls begin at 2^40.
    1099511627776 + call, session_id, prompt_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', began_ms / 1000.0, 'unixepoch'),
    strftime('%Y-%m-%dT%H:%M:%fZ', ended_ms / 1000.0, 'unixepoch'), duration_ms,
    agent_role, agent_depth, model_id, system_prompt_id,
    'tool_call', tool || ' ' || coalesce(arguments, title, ''), context_mode, NULL,
    said, substr(said, 1, min(400, instr(said || char(10), char(10)) - 1)),
    json_array(json_object('id', call_id, 'tool', tool, 'title', title,
        'ok', json(CASE ok WHEN 1 THEN 'true' WHEN 0 THEN 'false' ELSE 'null' END), 'duration_ms', duration_ms)),
    NULL, NULL, NULL, NULL, 0, NULL, NULL,
    CASE status WHEN 'failed' THEN 'error' WHEN 'interrupted' THEN status WHEN 'cancelled' THEN status END,
    status, iif(status = 'failed', substr(said, 1, min(400, instr(said || char(10), char(10)) - 1)), NULL),
    json_object('call_id', call_id, 'output_bytes', output_bytes),
    agent_id, seq
FROM (
    SELECT
        c.id AS call, c.session_id, c.agent_id, c.prompt_id, c.call_id, c.tool, c.title, c.ok, c.duration_ms, c.output_bytes,
        b.id & 4294967295 AS seq, b.at_ms AS began_ms, f.at_ms AS ended_ms,
        p.agent_role, p.agent_depth, p.model_id, p.system_prompt_id, p.context_mode,
        CASE WHEN c.ok = 1 THEN 'completed' WHEN c.interrupted_seq IS NOT NULL THEN 'interrupted' WHEN c.ok = 0 THEN 'failed'
             WHEN p.completed_at IS NOT NULL THEN 'cancelled' ELSE 'running' END AS status,
        -- As the model wrote them, in the last reply before that has a call of this name.
        (SELECT coalesce((SELECT content FROM blobs WHERE r.blob_bytes > 0 AND hash = j.value ->> '$.arguments."$blob"'),
                         j.value ->> '$.arguments')
         FROM event_rows r, json_each(iif(json_valid(r.body), r.body, '{}'), '$.reply.calls') j
         WHERE r.id > s.number << 32 AND r.id < b.id AND r.agent_id = c.agent_id AND r.type = 'replied'
           AND j.value ->> '$.id' = c.call_id
         ORDER BY r.id DESC LIMIT 1) AS arguments,
        coalesce((SELECT content FROM blobs
                  WHERE f.blob_bytes > 0 AND hash = iif(json_valid(f.body), f.body, '{}') ->> '$.text."$blob"'),
                 iif(json_valid(f.body), f.body, '{}') ->> '$.text') AS said
    FROM prompts p
    JOIN tool_calls c ON c.prompt_id = p.id
    JOIN sessions s ON s.id = c.session_id
    JOIN event_rows b ON b.id = (s.number << 32) + coalesce(c.started_seq, c.finished_seq)
    LEFT JOIN event_rows f ON f.id = (s.number << 32) + c.finished_seq
);
