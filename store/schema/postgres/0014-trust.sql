-- As 0022-trust.sql of SQLite, which describes the columns.
ALTER TABLE candidates ADD COLUMN trust BIGINT NOT NULL DEFAULT 4;
ALTER TABLE candidates ADD COLUMN file_id TEXT NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN apart_from TEXT NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN mount_namespace TEXT NOT NULL DEFAULT '';
CREATE INDEX candidates_apart ON candidates (ns, apart_from) WHERE apart_from <> '';

ALTER TABLE uploads ADD COLUMN trust BIGINT NOT NULL DEFAULT 4;
ALTER TABLE uploads ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE uploads ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE uploads ADD COLUMN mount_namespace TEXT NOT NULL DEFAULT '';

CREATE FUNCTION module_offer(m BIGINT) RETURNS BIGINT LANGUAGE sql STABLE AS $$
	SELECT max(c.trust * 256 + CASE WHEN c.state = 0 AND c.kind = 'gsym' THEN c.quality
		WHEN c.state = 1 AND c.kind <> 'sources' THEN c.claim END) FROM candidates c WHERE c.module = m
$$;
DROP TRIGGER candidate_offered ON candidates;
CREATE OR REPLACE FUNCTION candidate_offered() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		UPDATE modules SET offer = module_offer(OLD.module) WHERE number = OLD.module;
	END IF;
	IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND NEW.module <> OLD.module THEN
		UPDATE modules SET offer = module_offer(NEW.module) WHERE number = NEW.module;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER candidate_offered AFTER INSERT OR DELETE OR UPDATE OF state, kind, quality, claim, trust, module ON candidates
	FOR EACH ROW EXECUTE FUNCTION candidate_offered();
UPDATE modules SET offer = module_offer(number) WHERE offer IS NOT NULL;
-- Earlier versions read an offer as a quality.
UPDATE unhex_schema SET oldest = 14;
