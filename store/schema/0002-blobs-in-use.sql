-- A blob has a row while a candidate refers to it.
DELETE FROM blobs WHERE hash NOT IN (SELECT blob FROM candidates);
CREATE TRIGGER candidates_gone AFTER DELETE ON candidates
WHEN NOT EXISTS (SELECT 1 FROM candidates WHERE blob = OLD.blob)
BEGIN
	DELETE FROM blobs WHERE hash = OLD.blob;
END;
