-- Recovery and statistics: what was interrupted, what was taken back or merged, checkpoints, and large contents once.

ALTER TABLE sessions ADD COLUMN project TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN surface TEXT NOT NULL DEFAULT '';
-- The best that is known of older sessions.
UPDATE sessions SET project = workspace;

ALTER TABLE agents ADD COLUMN interrupted_at_ms INTEGER;
ALTER TABLE agents ADD COLUMN undone          INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN merges          INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN merge_conflicts INTEGER NOT NULL DEFAULT 0;
-- What has not ended is asked for at every start.
CREATE INDEX agents_open ON agents (session_id) WHERE ended_at_ms IS NULL;

ALTER TABLE tool_calls ADD COLUMN repeatable INTEGER;
-- The event that found the call unanswered.
ALTER TABLE tool_calls ADD COLUMN interrupted_seq INTEGER;

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

-- With the last event that refers to it goes the text.
CREATE TRIGGER blobs_go_with_their_events AFTER DELETE ON event_blobs
WHEN NOT EXISTS (SELECT 1 FROM event_blobs WHERE hash = OLD.hash)
BEGIN DELETE FROM blobs WHERE hash = OLD.hash; END;

-- How many bytes its body refers to; where there are none, the body is taken as it is.
ALTER TABLE events ADD COLUMN blob_bytes INTEGER NOT NULL DEFAULT 0;

-- Places are given for a whole transaction at once, so the session's row may be ahead of the event.
DROP TRIGGER events_have_no_gaps;
CREATE TRIGGER events_have_no_gaps BEFORE INSERT ON events
WHEN NEW.seq IS NOT 1 + coalesce((SELECT max(seq) FROM events WHERE session_id = NEW.session_id), 0)
  OR NOT EXISTS (SELECT 1 FROM sessions WHERE id = NEW.session_id AND last_seq >= NEW.seq)
BEGIN SELECT RAISE(ABORT, 'the event is not the next of its session'); END;

-- What the older events tell about the new columns. A damaged event tells nothing.
CREATE TEMP VIEW older AS
SELECT session_id, seq, agent_id, at_ms, type, iif(json_valid(body), body, '{}') AS body FROM events;

INSERT INTO checkpoints (session_id, seq, agent_id, turn, commit_id, at_ms)
SELECT session_id, seq, agent_id, body ->> '$.turn', body ->> '$.commit', at_ms FROM older
WHERE type = 'checkpointed' AND typeof(body ->> '$.turn') = 'integer' AND typeof(body ->> '$.commit') = 'text';

UPDATE agents SET merges = found.merges, merge_conflicts = found.conflicts
FROM (SELECT session_id, body ->> '$.from' AS id, count(*) AS merges,
             count(nullif(json_array_length(body, '$.conflicts'), 0)) AS conflicts
      FROM older WHERE type = 'merged' GROUP BY 1, 2) AS found
WHERE agents.session_id = found.session_id AND agents.id = found.id;

UPDATE agents SET undone = found.undone
FROM (SELECT u.session_id, iif(e.type = 'merged', e.body ->> '$.from', e.agent_id) AS id,
             count(DISTINCT u.seq) AS undone
      FROM older u, json_each(u.body, '$.events') listed
      JOIN older e ON e.session_id = u.session_id AND e.seq = listed.value AND e.type IN ('changed', 'merged')
      WHERE u.type = 'undone' GROUP BY 1, 2) AS found
WHERE agents.session_id = found.session_id AND agents.id = found.id;

DROP VIEW older;
