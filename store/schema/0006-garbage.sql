-- Blobs that lost their last row, until their files are removed; indexes for lists of uploads.
CREATE TABLE garbage (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	hash BLOB NOT NULL UNIQUE
) STRICT;
CREATE TRIGGER blob_gone AFTER DELETE ON blobs
BEGIN
	INSERT INTO garbage (hash) VALUES (OLD.hash) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER blob_returned AFTER INSERT ON blobs
BEGIN
	DELETE FROM garbage WHERE hash = NEW.hash;
END;

CREATE INDEX uploads_of_ns ON uploads (ns, updated);

-- queried: when the upstream answered.
ALTER TABLE fetched RENAME COLUMN asked TO queried;
