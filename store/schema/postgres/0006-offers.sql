-- The elements of a list that is one parameter, which SQLite has built in.
CREATE FUNCTION json_each(TEXT) RETURNS TABLE (key BIGINT, value TEXT) LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS 'SELECT n - 1, v FROM json_array_elements_text($1::json) WITH ORDINALITY AS e (v, n)';

-- What SQLite's step of this name describes.
ALTER TABLE modules ADD COLUMN offer BIGINT;
UPDATE modules SET offer = o.offer FROM (SELECT module, max(CASE WHEN state = 0 AND kind = 'gsym' THEN quality
	WHEN state = 1 AND kind <> 'sources' THEN claim END) AS offer FROM candidates GROUP BY module) o
	WHERE o.module = modules.number;
CREATE FUNCTION candidate_offered() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
	m BIGINT;
BEGIN
	IF TG_OP = 'DELETE' THEN
		m := OLD.module;
	ELSE
		m := NEW.module;
	END IF;
	UPDATE modules SET offer = (SELECT max(CASE WHEN c.state = 0 AND c.kind = 'gsym' THEN c.quality
		WHEN c.state = 1 AND c.kind <> 'sources' THEN c.claim END) FROM candidates c WHERE c.module = m)
	WHERE number = m;
	RETURN NULL;
END $$;
CREATE TRIGGER candidate_offered AFTER INSERT OR DELETE OR UPDATE OF state, kind, quality, claim ON candidates
	FOR EACH ROW EXECUTE FUNCTION candidate_offered();
