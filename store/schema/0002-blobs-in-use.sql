-- A row of blobs says that a candidate has it: the sweep takes the bytes of all others.
DELETE FROM blobs WHERE hash NOT IN (SELECT blob FROM candidates);
CREATE TRIGGER candidates_gone AFTER DELETE ON candidates
WHEN NOT EXISTS (SELECT 1 FROM candidates WHERE blob = OLD.blob)
BEGIN
	DELETE FROM blobs WHERE hash = OLD.blob;
END;
