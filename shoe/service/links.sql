-- Address of the paper or the code of a run, shown on leaderboards.
ALTER TABLE runs ADD COLUMN link TEXT;
