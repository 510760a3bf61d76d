-- What servers need that share an index (docs/fleet.md). An index in a file has one server, and uses none of it.
CREATE TABLE nodes (
	name TEXT NOT NULL PRIMARY KEY,
	instance TEXT NOT NULL,
	version TEXT NOT NULL,
	started INTEGER NOT NULL,
	seen INTEGER NOT NULL
);
CREATE TABLE changes (
	place INTEGER NOT NULL,
	module INTEGER NOT NULL,
	time INTEGER NOT NULL,
	PRIMARY KEY (place, module)
);
CREATE INDEX changes_by_time ON changes (time);
ALTER TABLE garbage ADD COLUMN removing INTEGER NOT NULL DEFAULT 0;
