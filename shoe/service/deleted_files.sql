-- Stored files that rows of this database referred to, until the rows were deleted. Only these files may be removed.
CREATE TABLE deleted_files (sha256 TEXT PRIMARY KEY, since REAL NOT NULL) STRICT;
