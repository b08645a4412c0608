-- Sub-agents: an agent is on record from the moment its task is admitted, so what only its start tells may be unknown.
-- Columns cannot be relaxed in place: the table is built anew, its rows in their old order.

CREATE TABLE agents_anew (
    session_id         TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    id                 TEXT    NOT NULL,
    parent_id          TEXT,
    name               TEXT    NOT NULL,
    role               TEXT    NOT NULL,
    depth              INTEGER NOT NULL,
    title              TEXT,
    status             TEXT    NOT NULL,
    requested_model    TEXT,
    model              TEXT,
    model_id           TEXT,
    system_prompt_id   TEXT,
    context_mode       TEXT,
    -- The settled agent whose conversation this one takes up.
    continues_id       TEXT,
    budget_turns       INTEGER,
    budget_tokens      INTEGER,
    budget_time_ms     INTEGER,
    budget_cost_usd    REAL,
    queued_at_ms       INTEGER,
    started_at_ms      INTEGER,
    last_at_ms         INTEGER NOT NULL,
    ended_at_ms        INTEGER,
    delivered_at_ms    INTEGER,
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

INSERT INTO agents_anew (
    session_id, id, parent_id, name, role, depth, status, model, model_id, system_prompt_id,
    budget_turns, budget_tokens, budget_time_ms, budget_cost_usd, started_at_ms, last_at_ms, ended_at_ms, duration_ms,
    turns, retries, compactions, tool_calls,
    input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_usd, error, message_id)
SELECT
    session_id, id, parent_id, iif(parent_id IS NULL, 'main', role), role, depth, status, model, model_id, system_prompt_id,
    budget_turns, budget_tokens, budget_time_ms, budget_cost_usd, started_at_ms, last_at_ms, ended_at_ms, duration_ms,
    turns, retries, compactions, tool_calls,
    input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_usd, error, message_id
FROM agents ORDER BY rowid;

DROP TABLE agents;
ALTER TABLE agents_anew RENAME TO agents;
