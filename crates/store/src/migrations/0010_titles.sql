-- A session can be given a title; what it is called without one stays in `title`. The sessions of a project are found
-- without looking at all others.

ALTER TABLE sessions ADD COLUMN given_title TEXT;
CREATE INDEX sessions_by_project ON sessions (project, started_at_ms, id);
