-- Kept profiles: what ran in a service on a host, from started until ended. level: how often it was
-- merged with its neighbours in time; -1: it never is, since a client knows its number.
CREATE TABLE profiles (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	ns TEXT NOT NULL,
	service TEXT NOT NULL,
	host TEXT NOT NULL,
	build TEXT NOT NULL,
	started INTEGER NOT NULL,
	ended INTEGER NOT NULL,
	samples INTEGER NOT NULL,
	level INTEGER NOT NULL,
	blob BLOB NOT NULL REFERENCES blobs,
	size INTEGER NOT NULL,
	key_id TEXT NOT NULL,
	created INTEGER NOT NULL
) STRICT;
CREATE INDEX profiles_of_service ON profiles (ns, service, started, number);
CREATE INDEX profiles_by_level ON profiles (level, ns, service, host, build, started);
CREATE INDEX profiles_by_age ON profiles (created, number);
CREATE INDEX profiles_of_ns ON profiles (ns, created, number);
CREATE INDEX profiles_of_blob ON profiles (blob);

-- What each service has: counts, bytes, and the newest time.
CREATE TABLE services (
	ns TEXT NOT NULL,
	service TEXT NOT NULL,
	profiles INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	ended INTEGER NOT NULL,
	PRIMARY KEY (ns, service)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER profile_counted AFTER INSERT ON profiles
BEGIN
	INSERT INTO services VALUES (NEW.ns, NEW.service, 1, NEW.size, NEW.ended)
		ON CONFLICT (ns, service) DO UPDATE SET profiles = services.profiles + 1,
			bytes = services.bytes + NEW.size, ended = max(services.ended, NEW.ended);
END;
CREATE TRIGGER profile_discounted AFTER DELETE ON profiles
BEGIN
	UPDATE services SET profiles = profiles - 1, bytes = bytes - OLD.size
		WHERE ns = OLD.ns AND service = OLD.service;
	DELETE FROM services WHERE ns = OLD.ns AND service = OLD.service AND profiles = 0;
END;

-- A blob has a row while a candidate, a source, an answer or a profile refers to it.
DROP TRIGGER candidates_gone;
DROP TRIGGER sources_gone;
DROP TRIGGER fetched_gone;
DROP VIEW blobs_referred;
CREATE VIEW blobs_referred AS
	SELECT blob FROM candidates UNION ALL SELECT blob FROM sources
	UNION ALL SELECT blob FROM fetched WHERE blob IS NOT NULL
	UNION ALL SELECT blob FROM profiles;
CREATE TRIGGER candidates_gone AFTER DELETE ON candidates
WHEN NOT EXISTS (SELECT 1 FROM blobs_referred WHERE blob = OLD.blob)
BEGIN
	DELETE FROM blobs WHERE hash = OLD.blob;
END;
CREATE TRIGGER sources_gone AFTER DELETE ON sources
WHEN NOT EXISTS (SELECT 1 FROM blobs_referred WHERE blob = OLD.blob)
BEGIN
	DELETE FROM blobs WHERE hash = OLD.blob;
END;
CREATE TRIGGER fetched_gone AFTER DELETE ON fetched
WHEN OLD.blob IS NOT NULL AND NOT EXISTS (SELECT 1 FROM blobs_referred WHERE blob = OLD.blob)
BEGIN
	DELETE FROM blobs WHERE hash = OLD.blob;
END;
CREATE TRIGGER profiles_gone AFTER DELETE ON profiles
WHEN NOT EXISTS (SELECT 1 FROM blobs_referred WHERE blob = OLD.blob)
BEGIN
	DELETE FROM blobs WHERE hash = OLD.blob;
END;
