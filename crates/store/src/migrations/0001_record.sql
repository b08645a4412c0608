-- The record. `events` is the truth; every other table is derived from it, in the same transaction.
-- Times are milliseconds since 1970 UTC, except in `messages`, which keeps readable text.

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
    cost_usd           REAL
) STRICT;
CREATE INDEX sessions_by_start ON sessions (started_at_ms, id);

CREATE TABLE events (
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL CHECK (seq > 0),
    agent_id   TEXT    NOT NULL,
    parent_id  TEXT,
    at_ms      INTEGER NOT NULL,
    type       TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    PRIMARY KEY (session_id, seq)
) STRICT;

-- Append-only: an event can neither change nor go, nor can one be put out of its place. A whole session can go:
-- then its row in `sessions` is gone before its events are.
CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER events_never_go BEFORE DELETE ON events
WHEN EXISTS (SELECT 1 FROM sessions WHERE id = OLD.session_id)
BEGIN SELECT RAISE(ABORT, 'events are append-only; delete the whole session instead'); END;

CREATE TRIGGER events_have_no_gaps BEFORE INSERT ON events
WHEN NEW.seq IS NOT (SELECT last_seq FROM sessions WHERE id = NEW.session_id)
  OR (NEW.seq > 1 AND NOT EXISTS (SELECT 1 FROM events WHERE session_id = NEW.session_id AND seq = NEW.seq - 1))
  OR EXISTS (SELECT 1 FROM events WHERE session_id = NEW.session_id AND seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'the event is not the next of its session'); END;

CREATE TABLE agents (
    session_id         TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    id                 TEXT    NOT NULL,
    parent_id          TEXT,
    role               TEXT    NOT NULL,
    depth              INTEGER NOT NULL,
    status             TEXT    NOT NULL DEFAULT 'running',
    model              TEXT    NOT NULL,
    model_id           TEXT    NOT NULL,
    system_prompt_id   TEXT    NOT NULL,
    budget_turns       INTEGER,
    budget_tokens      INTEGER,
    budget_time_ms     INTEGER,
    budget_cost_usd    REAL,
    started_at_ms      INTEGER NOT NULL,
    last_at_ms         INTEGER NOT NULL,
    ended_at_ms        INTEGER,
    duration_ms        INTEGER,
    turns              INTEGER NOT NULL DEFAULT 0,
    retries            INTEGER NOT NULL DEFAULT 0,
    compactions        INTEGER NOT NULL DEFAULT 0,
    tool_calls         INTEGER NOT NULL DEFAULT 0,
    input_tokens       INTEGER,
    cached_tokens      INTEGER,
    cache_write_tokens INTEGER,
    output_tokens      INTEGER,
    reasoning_tokens   INTEGER,
    cost_usd           REAL,
    error              TEXT,
    -- The newest prompt: the row of `messages` that the agent's work is counted under.
    message_id         INTEGER,
    PRIMARY KEY (session_id, id)
) STRICT;

CREATE TABLE messages (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id          TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    agent_id            TEXT    NOT NULL,
    seq                 INTEGER NOT NULL,
    parent_message_id   INTEGER REFERENCES messages (id) ON DELETE SET NULL,
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
    metadata_json       TEXT
) STRICT;
CREATE INDEX messages_by_session ON messages (session_id, agent_id, id);
CREATE INDEX messages_by_parent ON messages (parent_message_id);
CREATE INDEX messages_open ON messages (session_id, agent_id) WHERE completed_at IS NULL;

CREATE TABLE tool_calls (
    id           INTEGER PRIMARY KEY,
    session_id   TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    agent_id     TEXT    NOT NULL,
    call_id      TEXT    NOT NULL,
    -- NULL where the call was refused before anything ran.
    started_seq  INTEGER,
    finished_seq INTEGER,
    tool         TEXT    NOT NULL,
    title        TEXT,
    ok           INTEGER,
    duration_ms  INTEGER,
    output_bytes INTEGER
) STRICT;
-- Not unique: providers may reuse a call id.
CREATE INDEX tool_calls_by_agent ON tool_calls (session_id, agent_id, call_id);
