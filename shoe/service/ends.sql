-- End of the submissions to a leaderboard.
ALTER TABLE boards ADD COLUMN ends REAL;
