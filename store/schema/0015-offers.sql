-- What a module offers to a client that has its file: the best quality of its ready GSYMs, and of what is
-- claimed for candidates that are pending, sources left out. NULL: nothing. A query of ten thousand IDs reads
-- one row a module.
ALTER TABLE modules ADD COLUMN offer INTEGER;
CREATE TEMP TABLE offers AS SELECT module, max(CASE WHEN state = 0 AND kind = 'gsym' THEN quality
	WHEN state = 1 AND kind <> 'sources' THEN claim END) AS offer FROM candidates GROUP BY module;
UPDATE modules SET offer = o.offer FROM offers o WHERE o.module = modules.number;
DROP TABLE offers;
CREATE TRIGGER candidate_offered AFTER INSERT ON candidates
WHEN NEW.state = 0 AND NEW.kind = 'gsym' OR NEW.state = 1 AND NEW.kind <> 'sources'
BEGIN
	UPDATE modules SET offer = max(coalesce(offer, 0), CASE NEW.state WHEN 0 THEN NEW.quality ELSE NEW.claim END)
	WHERE number = NEW.module;
END;
CREATE TRIGGER candidate_offered_otherwise AFTER UPDATE OF state, kind, quality, claim ON candidates
WHEN NEW.state <> OLD.state OR NEW.kind <> OLD.kind OR NEW.quality <> OLD.quality OR NEW.claim <> OLD.claim
BEGIN
	UPDATE modules SET offer = (SELECT max(CASE WHEN c.state = 0 AND c.kind = 'gsym' THEN c.quality
		WHEN c.state = 1 AND c.kind <> 'sources' THEN c.claim END) FROM candidates c WHERE c.module = NEW.module)
	WHERE number = NEW.module;
END;
CREATE TRIGGER candidate_withdrawn AFTER DELETE ON candidates
BEGIN
	UPDATE modules SET offer = (SELECT max(CASE WHEN c.state = 0 AND c.kind = 'gsym' THEN c.quality
		WHEN c.state = 1 AND c.kind <> 'sources' THEN c.claim END) FROM candidates c WHERE c.module = OLD.module)
	WHERE number = OLD.module;
END;
