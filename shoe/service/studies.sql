-- Studies that people are invited to. What raters see, and in which order, stays as it was when they were invited.
CREATE TABLE studies (
  id TEXT PRIMARY KEY,
  shown TEXT NOT NULL,  -- JSON: what the page shows every rater
  levels INTEGER NOT NULL, created REAL NOT NULL
) STRICT;
CREATE TABLE raters (
  study TEXT NOT NULL, name TEXT NOT NULL,
  asked TEXT NOT NULL,  -- JSON: questions in their order, and files of the pictures shown with them
  PRIMARY KEY (study, name)
) STRICT;
CREATE TABLE pictures (
  study TEXT NOT NULL, file TEXT NOT NULL, address TEXT NOT NULL, PRIMARY KEY (study, file)
) STRICT;

-- An answer is all that it says: the same one, sent again, is there already. Browsers' times are milliseconds.
CREATE TABLE answers (
  number INTEGER PRIMARY KEY,  -- order in which they came
  study TEXT NOT NULL, rater TEXT NOT NULL,
  item INTEGER NOT NULL, occasion INTEGER NOT NULL, phase TEXT NOT NULL, rating INTEGER NOT NULL,
  shown REAL NOT NULL, answered REAL NOT NULL,
  received REAL NOT NULL,
  UNIQUE (study, rater, item, occasion, phase, rating, shown, answered)
) STRICT;
CREATE TRIGGER answers_are_not_changed BEFORE UPDATE ON answers BEGIN SELECT raise(ABORT, 'answers are only added'); END;
CREATE TRIGGER answers_are_not_removed BEFORE DELETE ON answers BEGIN SELECT raise(ABORT, 'answers are only added'); END;
