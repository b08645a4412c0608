-- `messages` becomes a view: prompts are one table, tool calls another, and whoever asks for messages sees both, in the
-- words of the design that asked for that table. Nothing is written twice.

ALTER TABLE messages RENAME TO prompts;
-- 0 from the moment an agent is admitted until it is given its words.
ALTER TABLE prompts ADD COLUMN told INTEGER NOT NULL DEFAULT 1;
UPDATE prompts SET status = 'timeout' WHERE status = 'timed_out';

-- The six indexes of that design, on the columns that the view selects. Calls are found through their prompt.
DROP INDEX messages_by_session;
DROP INDEX messages_by_parent;
DROP INDEX messages_open;
CREATE INDEX idx_messages_session ON prompts (session_id, agent_id, id);
CREATE INDEX idx_messages_parent ON prompts (parent_message_id);
CREATE INDEX idx_messages_role ON prompts (agent_role);
CREATE INDEX idx_messages_depth ON prompts (agent_depth);
CREATE INDEX idx_messages_started ON prompts (started_at);
CREATE INDEX idx_messages_status ON prompts (status);
CREATE INDEX prompts_open ON prompts (session_id, agent_id) WHERE completed_at IS NULL;

-- The prompt that a call was made under.
ALTER TABLE tool_calls ADD COLUMN prompt_id INTEGER;
UPDATE tool_calls SET prompt_id =
    (SELECT p.id FROM prompts p
     WHERE p.session_id = tool_calls.session_id AND p.agent_id = tool_calls.agent_id
       AND p.seq < coalesce(tool_calls.started_seq, tool_calls.finished_seq)
     ORDER BY p.id DESC LIMIT 1);
CREATE INDEX tool_calls_by_prompt ON tool_calls (prompt_id);

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
        b.seq, b.at_ms AS began_ms, f.at_ms AS ended_ms,
        p.agent_role, p.agent_depth, p.model_id, p.system_prompt_id, p.context_mode,
        CASE WHEN c.ok = 1 THEN 'completed' WHEN c.interrupted_seq IS NOT NULL THEN 'interrupted' WHEN c.ok = 0 THEN 'failed'
             WHEN p.completed_at IS NOT NULL THEN 'cancelled' ELSE 'running' END AS status,
        -- As the model wrote them, in the last reply before that has a call of this name.
        (SELECT coalesce((SELECT content FROM blobs WHERE r.blob_bytes > 0 AND hash = j.value ->> '$.arguments."$blob"'),
                         j.value ->> '$.arguments')
         FROM events r, json_each(iif(json_valid(r.body), r.body, '{}'), '$.reply.calls') j
         WHERE r.session_id = c.session_id AND r.agent_id = c.agent_id AND r.type = 'replied' AND r.seq < b.seq
           AND j.value ->> '$.id' = c.call_id
         ORDER BY r.seq DESC LIMIT 1) AS arguments,
        coalesce((SELECT content FROM blobs
                  WHERE f.blob_bytes > 0 AND hash = iif(json_valid(f.body), f.body, '{}') ->> '$.text."$blob"'),
                 iif(json_valid(f.body), f.body, '{}') ->> '$.text') AS said
    FROM prompts p
    JOIN tool_calls c ON c.prompt_id = p.id
    JOIN events b ON b.session_id = c.session_id AND b.seq = coalesce(c.started_seq, c.finished_seq)
    LEFT JOIN events f ON f.session_id = c.session_id AND f.seq = c.finished_seq
);
