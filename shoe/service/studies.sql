-- Rating studies. The questions for a rater, and their order, do not change after the study has been published.
CREATE TABLE studies (
  id TEXT PRIMARY KEY,
  shown TEXT NOT NULL,  -- JSON: content of the page for all raters
  levels INTEGER NOT NULL, created REAL NOT NULL
) STRICT;
CREATE TABLE raters (
  study TEXT NOT NULL, name TEXT NOT NULL,
  asked TEXT NOT NULL,  -- JSON: questions in order, and names of the image files shown with the questions
  PRIMARY KEY (study, name)
) STRICT;
CREATE TABLE pictures (
  study TEXT NOT NULL, file TEXT NOT NULL, address TEXT NOT NULL, PRIMARY KEY (study, file)
) STRICT;

-- Equal answers are stored once, so that retries are safe. shown and answered are milliseconds by the browser's clock.
CREATE TABLE answers (
  number INTEGER PRIMARY KEY,  -- order of arrival
  study TEXT NOT NULL, rater TEXT NOT NULL,
  item INTEGER NOT NULL, occasion INTEGER NOT NULL, phase TEXT NOT NULL, rating INTEGER NOT NULL,
  shown REAL NOT NULL, answered REAL NOT NULL,
  received REAL NOT NULL,
  UNIQUE (study, rater, item, occasion, phase, rating, shown, answered)
) STRICT;
CREATE TRIGGER answers_are_not_changed BEFORE UPDATE ON answers BEGIN SELECT raise(ABORT, 'answers are only added'); END;
CREATE TRIGGER answers_are_not_removed BEFORE DELETE ON answers BEGIN SELECT raise(ABORT, 'answers are only added'); END;
