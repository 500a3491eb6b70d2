-- Tables of a server. Files are stored separately, under the SHA-256 in these tables. Times are seconds since 1970.

CREATE TABLE truths (
  name TEXT PRIMARY KEY, dataset TEXT NOT NULL, sha256 TEXT NOT NULL,
  options TEXT NOT NULL,  -- JSON: files, and options for reading them
  facts TEXT NOT NULL,    -- JSON: metadata, as in signatures
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

-- The key is a hash of everything that the outcome of a job depends on, so that equal submissions share one job.
CREATE TABLE jobs (
  key TEXT PRIMARY KEY, kind TEXT NOT NULL, request TEXT NOT NULL, priority INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
  reason TEXT, stage TEXT, progress REAL,
  attempt INTEGER NOT NULL DEFAULT 0,  -- number of attempts so far
  deaths INTEGER NOT NULL DEFAULT 0,   -- number of crashes that no resource limit caused, since the last success
  lease_until REAL, created REAL NOT NULL, started REAL, ended REAL,
  signature TEXT, figures TEXT, outputs TEXT
) STRICT;
CREATE INDEX queue ON jobs (state, priority, created);

-- A run is a submission of a team; its state is the state of its job, unless the run was cancelled.
CREATE TABLE runs (
  number INTEGER PRIMARY KEY,  -- order of submission
  id TEXT NOT NULL UNIQUE, key TEXT NOT NULL, team TEXT NOT NULL, name TEXT NOT NULL,
  prediction_sha256 TEXT, truth TEXT NOT NULL, visibility TEXT NOT NULL, board TEXT, request TEXT NOT NULL,
  created REAL NOT NULL, cancelled INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX same_run ON runs (team, key, truth, coalesce(board, '')) WHERE cancelled = 0 AND deleted = 0;
CREATE INDEX runs_of_jobs ON runs (key);

-- Teams take turns: the first queued job of each team, then the second of each; the team served longest ago is first.
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

CREATE TABLE further (run TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (run, key)) STRICT;  -- follow-up jobs of a run
CREATE INDEX further_of_jobs ON further (key);

CREATE TABLE log (
  number INTEGER PRIMARY KEY, key TEXT NOT NULL, attempt INTEGER NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL,
  line TEXT NOT NULL
) STRICT;
CREATE INDEX log_of_jobs ON log (key, number);

CREATE TABLE boards (
  name TEXT PRIMARY KEY, title TEXT NOT NULL, truth TEXT NOT NULL, request TEXT NOT NULL,
  figure TEXT NOT NULL,  -- key of the metric that ranks the runs
  quota INTEGER, hidden INTEGER NOT NULL, created REAL NOT NULL
) STRICT;

CREATE TABLE audit (
  id INTEGER PRIMARY KEY, at REAL NOT NULL, actor TEXT NOT NULL, address TEXT, action TEXT NOT NULL, object TEXT,
  detail TEXT
) STRICT;
