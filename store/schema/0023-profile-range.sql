-- The profiles of one message share a blob: each row refers to a range of it.
ALTER TABLE profiles ADD COLUMN off INTEGER NOT NULL DEFAULT 0;
-- bytes of the profile itself; `size` is the blob's
ALTER TABLE profiles ADD COLUMN length INTEGER NOT NULL DEFAULT 0;
UPDATE profiles SET length = size;
DROP INDEX profiles_of_blob;
CREATE INDEX profiles_of_blob ON profiles (blob, ns);

-- Profiles of each namespace, and the bytes of their blobs, each counted once, kept up by triggers.
CREATE TABLE profile_usage (
	ns TEXT NOT NULL PRIMARY KEY,
	profiles INTEGER NOT NULL,
	bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO profile_usage SELECT ns, sum(n), sum(size) FROM
	(SELECT ns, blob, count(*) AS n, max(size) AS size FROM profiles GROUP BY ns, blob) AS b GROUP BY ns;
DROP TRIGGER profile_counted;
CREATE TRIGGER profile_counted AFTER INSERT ON profiles
BEGIN
	INSERT INTO services VALUES (NEW.ns, NEW.service, 1, NEW.length, NEW.ended)
		ON CONFLICT (ns, service) DO UPDATE SET profiles = services.profiles + 1,
			bytes = services.bytes + NEW.length, ended = max(services.ended, NEW.ended);
	INSERT INTO profile_usage VALUES (NEW.ns, 1, CASE WHEN EXISTS (SELECT 1 FROM profiles
			WHERE blob = NEW.blob AND ns = NEW.ns AND number <> NEW.number) THEN 0 ELSE NEW.size END)
		ON CONFLICT (ns) DO UPDATE SET profiles = profile_usage.profiles + 1,
			bytes = profile_usage.bytes + excluded.bytes;
END;
DROP TRIGGER profile_discounted;
CREATE TRIGGER profile_discounted AFTER DELETE ON profiles
BEGIN
	UPDATE services SET profiles = profiles - 1, bytes = bytes - OLD.length
		WHERE ns = OLD.ns AND service = OLD.service;
	DELETE FROM services WHERE ns = OLD.ns AND service = OLD.service AND profiles = 0;
	UPDATE profile_usage SET profiles = profiles - 1, bytes = bytes - CASE WHEN EXISTS (SELECT 1 FROM profiles
			WHERE blob = OLD.blob AND ns = OLD.ns) THEN 0 ELSE OLD.size END
		WHERE ns = OLD.ns;
	DELETE FROM profile_usage WHERE ns = OLD.ns AND profiles = 0;
END;
