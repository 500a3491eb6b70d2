-- Everything that the service knows; files lie beside it, by the hashes that stand here. Times are seconds since 1970.

CREATE TABLE truths (
  name TEXT PRIMARY KEY, dataset TEXT NOT NULL, sha256 TEXT NOT NULL,
  options TEXT NOT NULL,  -- JSON: how it is read
  facts TEXT NOT NULL,    -- JSON: what signatures say of it
  shown INTEGER NOT NULL, created REAL NOT NULL
) STRICT;

CREATE TABLE maps (
  name TEXT PRIMARY KEY, digest TEXT NOT NULL, folder TEXT NOT NULL, facts TEXT NOT NULL, created REAL NOT NULL
) STRICT;

CREATE TABLE teams (name TEXT PRIMARY KEY, quota INTEGER, created REAL NOT NULL) STRICT;

CREATE TABLE tokens (
  hash TEXT PRIMARY KEY, prefix TEXT NOT NULL, name TEXT NOT NULL, team TEXT NOT NULL, scopes TEXT NOT NULL,
  created REAL NOT NULL, expires REAL, last_used REAL, revoked REAL
) STRICT;

CREATE TABLE sessions (hash TEXT PRIMARY KEY, token TEXT NOT NULL, expires REAL NOT NULL) STRICT;  -- of browsers

CREATE TABLE predictions (sha256 TEXT PRIMARY KEY, size INTEGER NOT NULL, created REAL NOT NULL) STRICT;
CREATE TABLE given (
  sha256 TEXT NOT NULL, team TEXT NOT NULL, name TEXT NOT NULL, created REAL NOT NULL, PRIMARY KEY (sha256, team)
) STRICT;

-- Work: a key stands for everything that its outcome depends on, so that equal work is one row.
CREATE TABLE jobs (
  key TEXT PRIMARY KEY, kind TEXT NOT NULL, request TEXT NOT NULL, priority INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
  reason TEXT, stage TEXT, progress REAL,
  attempt INTEGER NOT NULL DEFAULT 0,  -- of all that were ever begun
  deaths INTEGER NOT NULL DEFAULT 0,   -- of children that died by no limit, one after another
  lease_until REAL, created REAL NOT NULL, started REAL, ended REAL,
  signature TEXT, figures TEXT, outputs TEXT
) STRICT;
CREATE INDEX queue ON jobs (state, priority, created);

-- A run is a team's name for a job; its state is its job's, but for being cancelled.
CREATE TABLE runs (
  number INTEGER PRIMARY KEY,  -- order in which they came
  id TEXT NOT NULL UNIQUE, key TEXT NOT NULL, team TEXT NOT NULL, name TEXT NOT NULL,
  prediction_sha256 TEXT, truth TEXT NOT NULL, visibility TEXT NOT NULL, board TEXT, request TEXT NOT NULL,
  created REAL NOT NULL, cancelled INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX same_run ON runs (team, key, truth, coalesce(board, '')) WHERE cancelled = 0 AND deleted = 0;
CREATE INDEX runs_of_jobs ON runs (key);

-- Teams take turns: of each the first job that waits, then of each the second; who was served longest ago goes first.
CREATE TABLE turns (team TEXT PRIMARY KEY, served REAL NOT NULL) STRICT;
CREATE VIEW waiting AS
  SELECT key, team, row_number() OVER (ORDER BY priority, turn, coalesce(served, 0), created, place) AS position
  FROM (
    SELECT key, team, priority, created, place,
      row_number() OVER (PARTITION BY priority, team ORDER BY created, place) AS turn
    FROM (
      SELECT key, priority, created, rowid AS place,
        coalesce((SELECT team FROM runs WHERE runs.key = jobs.key ORDER BY number LIMIT 1), '') AS team
      FROM jobs WHERE state = 'queued'
    )
  ) LEFT JOIN turns USING (team);

CREATE TABLE further (run TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (run, key)) STRICT;  -- a run's page and diagnosis
CREATE INDEX further_of_jobs ON further (key);

CREATE TABLE log (
  number INTEGER PRIMARY KEY, key TEXT NOT NULL, attempt INTEGER NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL,
  line TEXT NOT NULL
) STRICT;
CREATE INDEX log_of_jobs ON log (key, number);

CREATE TABLE boards (
  name TEXT PRIMARY KEY, title TEXT NOT NULL, truth TEXT NOT NULL, request TEXT NOT NULL,
  figure TEXT NOT NULL,  -- that ranks
  quota INTEGER, hidden INTEGER NOT NULL, created REAL NOT NULL
) STRICT;

CREATE TABLE audit (
  id INTEGER PRIMARY KEY, at REAL NOT NULL, actor TEXT NOT NULL, address TEXT, action TEXT NOT NULL, object TEXT,
  detail TEXT
) STRICT;
