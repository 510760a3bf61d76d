-- The order in which candidates became ready, as in 0013-objects.sql of SQLite. The row of the number is locked
-- until a transaction ends, so that a lower sequence is never visible later than a higher one.
ALTER TABLE candidates ADD COLUMN sequence BIGINT NOT NULL DEFAULT 0;
UPDATE candidates SET sequence = number WHERE state = 0;
INSERT INTO numbers (name, value) SELECT 'sequence', coalesce(max(number), 0) FROM candidates;
INSERT INTO numbers (name, value) VALUES ('store', 1 + floor(random() * 9007199254740990)::BIGINT);
CREATE INDEX candidates_by_sequence ON candidates (ns, sequence, number) WHERE sequence > 0;
CREATE FUNCTION next_sequence() RETURNS BIGINT LANGUAGE sql AS $$
	UPDATE numbers SET value = value + 1 WHERE name = 'sequence' RETURNING value
$$;
CREATE FUNCTION candidate_sequenced() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	NEW.sequence := next_sequence();
	RETURN NEW;
END $$;
CREATE TRIGGER candidate_ready BEFORE INSERT ON candidates FOR EACH ROW
	WHEN (NEW.state = 0) EXECUTE FUNCTION candidate_sequenced();
CREATE TRIGGER candidate_settled BEFORE UPDATE OF state, description, file_name, git_revision, ci_run, distribution, suite, package
	ON candidates FOR EACH ROW WHEN (NEW.state = 0) EXECUTE FUNCTION candidate_sequenced();
CREATE FUNCTION id_added() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
	place BIGINT;
BEGIN
	IF EXISTS (SELECT 1 FROM candidates WHERE module = NEW.module AND sequence > 0) THEN
		place := next_sequence();
		UPDATE candidates SET sequence = place WHERE module = NEW.module AND sequence > 0;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER id_added AFTER INSERT ON ids FOR EACH ROW EXECUTE FUNCTION id_added();
