-- Notes that outlive their sessions, and full-text search over what was said in past sessions.

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
CREATE TRIGGER search_comes AFTER INSERT ON search
BEGIN INSERT INTO search_words (rowid, text) VALUES (NEW.id, NEW.text); END;
CREATE TRIGGER search_changes AFTER UPDATE OF id, text ON search
BEGIN
    INSERT INTO search_words (search_words, rowid, text) VALUES ('delete', OLD.id, OLD.text);
    INSERT INTO search_words (rowid, text) VALUES (NEW.id, NEW.text);
END;
CREATE TRIGGER search_goes AFTER DELETE ON search
BEGIN INSERT INTO search_words (search_words, rowid, text) VALUES ('delete', OLD.id, OLD.text); END;

-- Up to which event each session is in `search`. By session and place, not by rowid: rowids come back after a
-- deletion, and what came later would be missed.
CREATE TABLE search_progress (
    session_id TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
