-- Which supplementary file (of dwz) the debug information of a candidate refers to, by the file's
-- canonical ID. state: 1 it was extracted with it, 2 without, since it was not here, 3 without,
-- since it could not be used.
CREATE TABLE supplementary (
	ns TEXT NOT NULL,
	id TEXT NOT NULL,
	candidate INTEGER NOT NULL REFERENCES candidates ON DELETE CASCADE,
	state INTEGER NOT NULL,
	PRIMARY KEY (ns, id, candidate)
) STRICT, WITHOUT ROWID;
CREATE INDEX supplementary_of_candidate ON supplementary (candidate);
