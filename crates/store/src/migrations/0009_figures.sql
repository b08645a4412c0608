-- What changes with every turn is kept in a narrow row of numbers, one an agent, instead of two wide ones among texts: that
-- is quicker to change, and many agents share a page. Agents are known by a number there, and in the rows of prompts
-- and calls. What people ask, `agents`, `prompts` and `tool_calls`, are views with the columns of before.

DROP VIEW messages;

CREATE TABLE agent_rows (
    number            INTEGER PRIMARY KEY,
    session_id        TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    id                TEXT    NOT NULL,
    parent_id         TEXT,
    name              TEXT    NOT NULL,
    role              TEXT    NOT NULL,
    depth             INTEGER NOT NULL,
    title             TEXT,
    status            TEXT    NOT NULL,
    requested_model   TEXT,
    model             TEXT,
    model_id          TEXT,
    system_prompt_id  TEXT,
    context_mode      TEXT,
    -- The settled agent whose conversation this one takes up.
    continues_id      TEXT,
    budget_turns      INTEGER,
    budget_tokens     INTEGER,
    budget_time_ms    INTEGER,
    budget_cost_usd   REAL,
    queued_at_ms      INTEGER,
    started_at_ms     INTEGER,
    ended_at_ms       INTEGER,
    interrupted_at_ms INTEGER,
    delivered_at_ms   INTEGER,
    duration_ms       INTEGER,
    compactions       INTEGER NOT NULL DEFAULT 0,
    warnings          INTEGER NOT NULL DEFAULT 0,
    error             TEXT,
    undone            INTEGER NOT NULL DEFAULT 0,
    merges            INTEGER NOT NULL DEFAULT 0,
    merge_conflicts   INTEGER NOT NULL DEFAULT 0,
    UNIQUE (session_id, id)
) STRICT;

CREATE TABLE agent_figures (
    agent                 INTEGER PRIMARY KEY REFERENCES agent_rows (number) ON DELETE CASCADE,
    -- The newest prompt: what the agent's work is counted under.
    message_id            INTEGER,
    last_at_ms            INTEGER NOT NULL,
    turns                 INTEGER NOT NULL DEFAULT 0,
    retries               INTEGER NOT NULL DEFAULT 0,
    tool_calls            INTEGER NOT NULL DEFAULT 0,
    input_tokens          INTEGER,
    cached_tokens         INTEGER,
    cache_write_tokens    INTEGER,
    output_tokens         INTEGER,
    reasoning_tokens      INTEGER,
    cost_usd              REAL,
    cost_unknown          INTEGER NOT NULL DEFAULT 0,
    -- Of these, what was counted under the newest prompt, and is not in that prompt's row yet.
    prompt_turns          INTEGER NOT NULL DEFAULT 0,
    prompt_context_tokens INTEGER,
    prompt_input_tokens   INTEGER,
    prompt_output_tokens  INTEGER,
    prompt_total_tokens   INTEGER
) STRICT;

INSERT INTO agent_rows (
    session_id, id, parent_id, name, role, depth, title, status, requested_model, model, model_id, system_prompt_id,
    context_mode, continues_id, budget_turns, budget_tokens, budget_time_ms, budget_cost_usd, queued_at_ms, started_at_ms,
    ended_at_ms, interrupted_at_ms, delivered_at_ms, duration_ms, compactions, warnings, error, undone, merges,
    merge_conflicts)
SELECT
    session_id, id, parent_id, name, role, depth, title, status, requested_model, model, model_id, system_prompt_id,
    context_mode, continues_id, budget_turns, budget_tokens, budget_time_ms, budget_cost_usd, queued_at_ms, started_at_ms,
    ended_at_ms, interrupted_at_ms, delivered_at_ms, duration_ms, compactions, warnings, error, undone, merges,
    merge_conflicts
FROM agents ORDER BY rowid;

INSERT INTO agent_figures (
    agent, message_id, last_at_ms, turns, retries, tool_calls, input_tokens, cached_tokens, cache_write_tokens,
    output_tokens, reasoning_tokens, cost_usd, cost_unknown)
SELECT
    r.number, a.message_id, a.last_at_ms, a.turns, a.retries, a.tool_calls, a.input_tokens, a.cached_tokens, a.cache_write_tokens,
    a.output_tokens, a.reasoning_tokens, a.cost_usd, a.cost_unknown
FROM agents a JOIN agent_rows r USING (session_id, id) ORDER BY r.number;
DROP TABLE agents;

-- What has not ended is asked for at every start.
CREATE INDEX agents_open ON agent_rows (session_id) WHERE ended_at_ms IS NULL;

-- Whoever sorts agents by `rowid` gets them in the order in which they came into being, as before.
CREATE VIEW agents AS
SELECT
    r.session_id, r.id, r.parent_id, r.name, r.role, r.depth, r.title, r.status, r.requested_model, r.model, r.model_id,
    r.system_prompt_id, r.context_mode, r.continues_id, r.budget_turns, r.budget_tokens, r.budget_time_ms, r.budget_cost_usd,
    r.queued_at_ms, r.started_at_ms, f.last_at_ms, r.ended_at_ms, r.interrupted_at_ms, r.delivered_at_ms, r.duration_ms,
    f.turns, f.retries, r.compactions, f.tool_calls, f.input_tokens, f.cached_tokens, f.cache_write_tokens, f.output_tokens,
    f.reasoning_tokens, f.cost_usd, f.cost_unknown, r.warnings, r.error, r.undone, r.merges, r.merge_conflicts, f.message_id,
    r.number AS rowid
FROM agent_rows r LEFT JOIN agent_figures f ON f.agent = r.number;

ALTER TABLE prompts RENAME TO prompt_rows;
ALTER TABLE prompt_rows ADD COLUMN agent INTEGER;
UPDATE prompt_rows SET agent =
    (SELECT r.number FROM agent_rows r WHERE r.session_id = prompt_rows.session_id AND r.id = prompt_rows.agent_id);
DROP INDEX idx_messages_session;
CREATE INDEX idx_messages_session ON prompt_rows (session_id);
DROP INDEX prompts_open;
CREATE INDEX prompts_open ON prompt_rows (agent) WHERE completed_at IS NULL;

-- What was counted under a prompt is in its own row, but for the newest one of an agent: there it is added.
CREATE VIEW prompts AS
SELECT
    p.id, p.session_id, p.agent_id, p.seq, p.parent_message_id, p.started_at, p.completed_at, p.duration_ms, p.agent_role,
    p.agent_depth, p.model_id, p.system_prompt_id, p.request_type, p.request_content, p.context_mode,
    coalesce(f.prompt_context_tokens, p.context_token_count) AS context_token_count,
    p.response_content, p.response_summary, p.tool_calls_json, p.files_modified_json,
    iif(f.prompt_input_tokens IS NULL, p.prompt_tokens, coalesce(p.prompt_tokens, 0) + f.prompt_input_tokens) AS prompt_tokens,
    iif(f.prompt_output_tokens IS NULL, p.completion_tokens, coalesce(p.completion_tokens, 0) + f.prompt_output_tokens)
        AS completion_tokens,
    iif(f.prompt_total_tokens IS NULL, p.total_tokens, coalesce(p.total_tokens, 0) + f.prompt_total_tokens) AS total_tokens,
    p.iteration_count + coalesce(f.prompt_turns, 0) AS iteration_count,
    p.max_iterations, p.max_duration_ms, p.bailout_reason, p.status, p.error_message, p.metadata_json, p.told
FROM prompt_rows p LEFT JOIN agent_figures f ON f.agent = p.agent AND f.message_id = p.id;

CREATE TABLE call_rows (
    id              INTEGER PRIMARY KEY,
    agent           INTEGER NOT NULL REFERENCES agent_rows (number) ON DELETE CASCADE,
    -- The prompt that the call was made under.
    prompt_id       INTEGER,
    call_id         TEXT    NOT NULL,
    -- NULL where the call was refused before anything ran.
    started_seq     INTEGER,
    finished_seq    INTEGER,
    -- The event that found the call unanswered.
    interrupted_seq INTEGER,
    tool            TEXT    NOT NULL,
    title           TEXT,
    repeatable      INTEGER,
    ok              INTEGER,
    duration_ms     INTEGER,
    output_bytes    INTEGER
) STRICT;
INSERT INTO call_rows (id, agent, prompt_id, call_id, started_seq, finished_seq, interrupted_seq, tool, title, repeatable, ok,
    duration_ms, output_bytes)
SELECT c.id, r.number, c.prompt_id, c.call_id, c.started_seq, c.finished_seq, c.interrupted_seq, c.tool, c.title, c.repeatable,
    c.ok, c.duration_ms, c.output_bytes
FROM tool_calls c JOIN agent_rows r ON r.session_id = c.session_id AND r.id = c.agent_id ORDER BY c.id;
DROP TABLE tool_calls;
CREATE INDEX calls_by_prompt ON call_rows (agent, prompt_id);
-- Not unique: providers may reuse a call id. A call that begins and ends in one transaction never comes in here.
CREATE INDEX calls_open ON call_rows (agent, call_id) WHERE finished_seq IS NULL;

CREATE VIEW tool_calls AS
SELECT c.id, r.session_id, r.id AS agent_id, c.call_id, c.prompt_id, c.started_seq, c.finished_seq, c.tool, c.title, c.repeatable,
    c.interrupted_seq, c.ok, c.duration_ms, c.output_bytes
FROM call_rows c JOIN agent_rows r ON r.number = c.agent;

-- As before, but that calls are found by the number of their agent.
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
        c.id AS call, p.session_id, p.agent_id, c.prompt_id, c.call_id, c.tool, c.title, c.ok, c.duration_ms, c.output_bytes,
        b.id & 4294967295 AS seq, b.at_ms AS began_ms, f.at_ms AS ended_ms,
        p.agent_role, p.agent_depth, p.model_id, p.system_prompt_id, p.context_mode,
        CASE WHEN c.ok = 1 THEN 'completed' WHEN c.interrupted_seq IS NOT NULL THEN 'interrupted' WHEN c.ok = 0 THEN 'failed'
             WHEN p.completed_at IS NOT NULL THEN 'cancelled' ELSE 'running' END AS status,
        -- As the model wrote them, in the last reply before that has a call of this name.
        (SELECT coalesce((SELECT content FROM blobs WHERE r.blob_bytes > 0 AND hash = j.value ->> '$.arguments."$blob"'),
                         j.value ->> '$.arguments')
         FROM event_rows r, json_each(iif(json_valid(r.body), r.body, '{}'), '$.reply.calls') j
         WHERE r.id > s.number << 32 AND r.id < b.id AND r.agent_id = p.agent_id AND r.type = 'replied'
           AND j.value ->> '$.id' = c.call_id
         ORDER BY r.id DESC LIMIT 1) AS arguments,
        coalesce((SELECT content FROM blobs
                  WHERE f.blob_bytes > 0 AND hash = iif(json_valid(f.body), f.body, '{}') ->> '$.text."$blob"'),
                 iif(json_valid(f.body), f.body, '{}') ->> '$.text') AS said
    FROM prompt_rows p
    JOIN call_rows c ON c.agent = p.agent AND c.prompt_id = p.id
    JOIN sessions s ON s.id = p.session_id
    JOIN event_rows b ON b.id = (s.number << 32) + coalesce(c.started_seq, c.finished_seq)
    LEFT JOIN event_rows f ON f.id = (s.number << 32) + c.finished_seq
);
