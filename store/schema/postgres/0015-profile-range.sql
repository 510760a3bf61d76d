-- The profiles of one message share a blob: each row refers to a range of it. An earlier version would read the whole blob as
-- each of them.
UPDATE unhex_schema SET oldest = 15;
ALTER TABLE profiles ADD COLUMN off BIGINT NOT NULL DEFAULT 0;
ALTER TABLE profiles ADD COLUMN length BIGINT NOT NULL DEFAULT 0;
UPDATE profiles SET length = size;
DROP INDEX profiles_of_blob;
CREATE INDEX profiles_of_blob ON profiles (blob, ns);

-- Profiles of each namespace, and the bytes of their blobs, each counted once, kept up by triggers.
CREATE TABLE profile_usage (
	ns TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	profiles BIGINT NOT NULL,
	bytes BIGINT NOT NULL
);
INSERT INTO profile_usage SELECT ns, sum(n), sum(size) FROM
	(SELECT ns, blob, count(*) AS n, max(size) AS size FROM profiles GROUP BY ns, blob) AS b GROUP BY ns;
CREATE OR REPLACE FUNCTION profile_counted() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO services VALUES (NEW.ns, NEW.service, 1, NEW.length, NEW.ended)
		ON CONFLICT (ns, service) DO UPDATE SET profiles = services.profiles + 1,
			bytes = services.bytes + NEW.length, ended = GREATEST(services.ended, NEW.ended);
	INSERT INTO profile_usage VALUES (NEW.ns, 1, CASE WHEN EXISTS (SELECT 1 FROM profiles
			WHERE blob = NEW.blob AND ns = NEW.ns AND number <> NEW.number) THEN 0 ELSE NEW.size END)
		ON CONFLICT (ns) DO UPDATE SET profiles = profile_usage.profiles + 1,
			bytes = profile_usage.bytes + excluded.bytes;
	RETURN NULL;
END $$;
DROP TRIGGER profile_counted ON profiles;
CREATE TRIGGER profile_counted AFTER INSERT ON profiles FOR EACH ROW EXECUTE FUNCTION profile_counted();
-- One statement may delete several profiles of a blob, whose bytes count once. Triggers of rows run when all of them are gone.
CREATE FUNCTION profiles_discounted() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	UPDATE services SET profiles = services.profiles - g.n, bytes = services.bytes - g.bytes FROM
		(SELECT ns, service, count(*) AS n, sum(length) AS bytes FROM gone GROUP BY ns, service) AS g
		WHERE services.ns = g.ns AND services.service = g.service;
	DELETE FROM services WHERE profiles = 0 AND (ns, service) IN (SELECT ns, service FROM gone);
	UPDATE profile_usage SET profiles = profile_usage.profiles - g.n, bytes = profile_usage.bytes - g.bytes FROM
		(SELECT ns, sum(n) AS n, sum(CASE WHEN EXISTS (SELECT 1 FROM profiles p
				WHERE p.blob = b.blob AND p.ns = b.ns) THEN 0 ELSE size END) AS bytes FROM
			(SELECT ns, blob, count(*) AS n, max(size) AS size FROM gone GROUP BY ns, blob) AS b GROUP BY ns) AS g
		WHERE profile_usage.ns = g.ns;
	DELETE FROM profile_usage WHERE profiles = 0 AND ns IN (SELECT ns FROM gone);
	RETURN NULL;
END $$;
CREATE TRIGGER profiles_discounted AFTER DELETE ON profiles REFERENCING OLD TABLE AS gone
	FOR EACH STATEMENT EXECUTE FUNCTION profiles_discounted();
