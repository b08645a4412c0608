-- The database of the present format, for those that are made new: what the migrations lead to, in one piece.
-- A test holds the two equal. Times are milliseconds since 1970 UTC, except in `prompt_rows`, which keeps readable text.

CREATE TABLE sessions (
    id                 TEXT    NOT NULL PRIMARY KEY,
    started_at_ms      INTEGER NOT NULL,
    last_at_ms         INTEGER NOT NULL,
    last_seq           INTEGER NOT NULL,
    workspace          TEXT    NOT NULL,
    version            TEXT    NOT NULL,
    title              TEXT,
    model              TEXT,
    status             TEXT    NOT NULL DEFAULT 'running',
    turns              INTEGER NOT NULL DEFAULT 0,
    input_tokens       INTEGER,
    cached_tokens      INTEGER,
    cache_write_tokens INTEGER,
    output_tokens      INTEGER,
    reasoning_tokens   INTEGER,
    cost_usd           REAL,
    project            TEXT    NOT NULL DEFAULT '',
    surface            TEXT    NOT NULL DEFAULT '',
    cost_unknown       INTEGER NOT NULL DEFAULT 0,
    number             INTEGER,
    given_title        TEXT
) STRICT;
CREATE INDEX sessions_by_start ON sessions (started_at_ms, id);
CREATE INDEX sessions_by_project ON sessions (project, started_at_ms, id);
CREATE UNIQUE INDEX sessions_by_number ON sessions (number);

CREATE TABLE prompt_rows (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id          TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    agent_id            TEXT    NOT NULL,
    seq                 INTEGER NOT NULL,
    parent_message_id   INTEGER REFERENCES prompt_rows (id) ON DELETE SET NULL,
    started_at          TEXT    NOT NULL,
    completed_at        TEXT,
    duration_ms         INTEGER,
    agent_role          TEXT    NOT NULL,
    agent_depth         INTEGER NOT NULL,
    model_id            TEXT    NOT NULL,
    system_prompt_id    TEXT    NOT NULL,
    request_type        TEXT    NOT NULL,
    request_content     TEXT    NOT NULL,
    context_mode        TEXT    NOT NULL DEFAULT 'full',
    context_token_count INTEGER,
    response_content    TEXT,
    response_summary    TEXT,
    tool_calls_json     TEXT,
    files_modified_json TEXT,
    prompt_tokens       INTEGER,
    completion_tokens   INTEGER,
    total_tokens        INTEGER,
    iteration_count     INTEGER NOT NULL DEFAULT 0,
    max_iterations      INTEGER,
    max_duration_ms     INTEGER,
    bailout_reason      TEXT,
    status              TEXT    NOT NULL DEFAULT 'running',
    error_message       TEXT,
    metadata_json       TEXT,
    told                INTEGER NOT NULL DEFAULT 1,
    agent               INTEGER
) STRICT;
CREATE INDEX idx_messages_parent ON prompt_rows (parent_message_id);
CREATE INDEX idx_messages_role ON prompt_rows (agent_role);
CREATE INDEX idx_messages_depth ON prompt_rows (agent_depth);
CREATE INDEX idx_messages_started ON prompt_rows (started_at);
CREATE INDEX idx_messages_status ON prompt_rows (status);
CREATE INDEX idx_messages_session ON prompt_rows (session_id);
CREATE INDEX prompts_open ON prompt_rows (agent) WHERE completed_at IS NULL;

CREATE TABLE checkpoints (
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    agent_id   TEXT    NOT NULL,
    turn       INTEGER NOT NULL,
    commit_id  TEXT    NOT NULL,
    at_ms      INTEGER NOT NULL,
    PRIMARY KEY (session_id, seq)
) STRICT, WITHOUT ROWID;

-- Texts that are too large to be kept twice: in the event stands a reference, here the text.
CREATE TABLE blobs (
    hash    TEXT    NOT NULL PRIMARY KEY,
    bytes   INTEGER NOT NULL,
    content TEXT    NOT NULL
) STRICT;

CREATE TABLE event_blobs (
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    hash       TEXT    NOT NULL REFERENCES blobs (hash),
    PRIMARY KEY (session_id, seq, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_blobs_by_hash ON event_blobs (hash);

CREATE TRIGGER blobs_go_with_their_events AFTER DELETE ON event_blobs
WHEN NOT EXISTS (SELECT 1 FROM event_blobs WHERE hash = OLD.hash)
BEGIN DELETE FROM blobs WHERE hash = OLD.hash; END;

-- A note refers to no session by a foreign key: it stays when its session goes.
CREATE TABLE memory (
    -- Never given twice, so that forgetting a note twice forgets nothing else.
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    scope      TEXT    NOT NULL CHECK (scope IN ('project', 'user')),
    project    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    agent_name TEXT    NOT NULL,
    role       TEXT    NOT NULL,
    session_id TEXT    NOT NULL,
    seq        INTEGER NOT NULL,
    at_ms      INTEGER NOT NULL
) STRICT;
CREATE INDEX memory_by_project ON memory (scope, project, at_ms);

CREATE VIRTUAL TABLE memory_words USING fts5 (
    text, content = 'memory', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);

-- What is deleted leaves no words behind in the index.
INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER memory_comes AFTER INSERT ON memory
BEGIN INSERT INTO memory_words (rowid, text) VALUES (NEW.id, NEW.text); END;

CREATE TRIGGER memory_changes AFTER UPDATE OF id, text ON memory
BEGIN
    INSERT INTO memory_words (memory_words, rowid, text) VALUES ('delete', OLD.id, OLD.text);
    INSERT INTO memory_words (rowid, text) VALUES (NEW.id, NEW.text);
END;

CREATE TRIGGER memory_goes AFTER DELETE ON memory
BEGIN INSERT INTO memory_words (memory_words, rowid, text) VALUES ('delete', OLD.id, OLD.text); END;

-- What was said, for searching. Filled when somebody searches, never while agents work.
CREATE TABLE search (
    id         INTEGER PRIMARY KEY,
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    agent_id   TEXT    NOT NULL,
    what       TEXT    NOT NULL CHECK (what IN ('prompt', 'reply', 'report', 'tool')),
    at_ms      INTEGER NOT NULL,
    text       TEXT    NOT NULL
) STRICT;
CREATE INDEX search_by_agent ON search (session_id, agent_id, id);

CREATE VIRTUAL TABLE search_words USING fts5 (
    text, content = 'search', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);

INSERT INTO search_words (search_words, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER search_comes AFTER INSERT ON search
BEGIN INSERT INTO search_words (rowid, text) VALUES (NEW.id, NEW.text); END;

CREATE TRIGGER search_changes AFTER UPDATE OF id, text ON search
BEGIN
    INSERT INTO search_words (search_words, rowid, text) VALUES ('delete', OLD.id, OLD.text);
    INSERT INTO search_words (rowid, text) VALUES (NEW.id, NEW.text);
END;

CREATE TRIGGER search_goes AFTER DELETE ON search
BEGIN INSERT INTO search_words (search_words, rowid, text) VALUES ('delete', OLD.id, OLD.text); END;

-- Up to which event each session is in `search`.
CREATE TABLE search_progress (
    session_id TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The truth. The key is the session's number and the event's sequence number in one.
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

-- What changes with every turn, apart from the texts of an agent: a narrow row is quicker to change.
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
CREATE INDEX agents_open ON agent_rows (session_id) WHERE ended_at_ms IS NULL;

CREATE VIEW agents AS
SELECT
    r.session_id, r.id, r.parent_id, r.name, r.role, r.depth, r.title, r.status, r.requested_model, r.model, r.model_id,
    r.system_prompt_id, r.context_mode, r.continues_id, r.budget_turns, r.budget_tokens, r.budget_time_ms, r.budget_cost_usd,
    r.queued_at_ms, r.started_at_ms, f.last_at_ms, r.ended_at_ms, r.interrupted_at_ms, r.delivered_at_ms, r.duration_ms,
    f.turns, f.retries, r.compactions, f.tool_calls, f.input_tokens, f.cached_tokens, f.cache_write_tokens, f.output_tokens,
    f.reasoning_tokens, f.cost_usd, f.cost_unknown, r.warnings, r.error, r.undone, r.merges, r.merge_conflicts, f.message_id,
    r.number AS rowid
FROM agent_rows r LEFT JOIN agent_figures f ON f.agent = r.number;

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
CREATE INDEX calls_by_prompt ON call_rows (agent, prompt_id);
CREATE INDEX calls_open ON call_rows (agent, call_id) WHERE finished_seq IS NULL;

CREATE VIEW tool_calls AS
SELECT c.id, r.session_id, r.id AS agent_id, c.call_id, c.prompt_id, c.started_seq, c.finished_seq, c.tool, c.title, c.repeatable,
    c.interrupted_seq, c.ok, c.duration_ms, c.output_bytes
FROM call_rows c JOIN agent_rows r ON r.number = c.agent;

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
