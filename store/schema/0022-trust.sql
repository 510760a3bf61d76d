-- Who vouches for the symbols of a candidate: UX_TRUST_* of lib/base/provenance.h. What is there counts as uploaded by
-- a key of CI, or as fetched from an upstream, which is the same level.
ALTER TABLE candidates ADD COLUMN trust INTEGER NOT NULL DEFAULT 4;
-- the File ID of the loaded file, if it was announced
ALTER TABLE candidates ADD COLUMN file_id TEXT NOT NULL DEFAULT '';
-- the build ID that the file has, but that another file with symbols has, too: its module has the File ID alone
ALTER TABLE candidates ADD COLUMN apart_from TEXT NOT NULL DEFAULT '';
-- where an agent found the file: provenance.h
ALTER TABLE candidates ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN mount_namespace TEXT NOT NULL DEFAULT '';
CREATE INDEX candidates_apart ON candidates (ns, apart_from) WHERE apart_from <> '';

ALTER TABLE uploads ADD COLUMN trust INTEGER NOT NULL DEFAULT 4;
ALTER TABLE uploads ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE uploads ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE uploads ADD COLUMN mount_namespace TEXT NOT NULL DEFAULT '';

-- An offer is 256 * trust + quality from here on, so that the larger one ranks higher.
DROP TRIGGER candidate_offered;
DROP TRIGGER candidate_offered_otherwise;
DROP TRIGGER candidate_withdrawn;
CREATE TRIGGER candidate_offered AFTER INSERT ON candidates
WHEN NEW.state = 0 AND NEW.kind = 'gsym' OR NEW.state = 1 AND NEW.kind <> 'sources'
BEGIN
	UPDATE modules SET offer = max(coalesce(offer, 0), NEW.trust * 256 +
		CASE NEW.state WHEN 0 THEN NEW.quality ELSE NEW.claim END) WHERE number = NEW.module;
END;
CREATE TRIGGER candidate_offered_otherwise AFTER UPDATE OF state, kind, quality, claim, trust, module ON candidates
WHEN NEW.state <> OLD.state OR NEW.kind <> OLD.kind OR NEW.quality <> OLD.quality OR NEW.claim <> OLD.claim
	OR NEW.trust <> OLD.trust OR NEW.module <> OLD.module
BEGIN
	UPDATE modules SET offer = (SELECT max(c.trust * 256 + CASE WHEN c.state = 0 AND c.kind = 'gsym' THEN c.quality
		WHEN c.state = 1 AND c.kind <> 'sources' THEN c.claim END) FROM candidates c WHERE c.module = modules.number)
	WHERE number IN (OLD.module, NEW.module);
END;
CREATE TRIGGER candidate_withdrawn AFTER DELETE ON candidates
BEGIN
	UPDATE modules SET offer = (SELECT max(c.trust * 256 + CASE WHEN c.state = 0 AND c.kind = 'gsym' THEN c.quality
		WHEN c.state = 1 AND c.kind <> 'sources' THEN c.claim END) FROM candidates c WHERE c.module = OLD.module)
	WHERE number = OLD.module;
END;
UPDATE modules SET offer = (SELECT max(c.trust * 256 + CASE WHEN c.state = 0 AND c.kind = 'gsym' THEN c.quality
	WHEN c.state = 1 AND c.kind <> 'sources' THEN c.claim END) FROM candidates c WHERE c.module = modules.number)
WHERE offer IS NOT NULL;
