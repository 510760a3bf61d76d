-- The order in which candidates became ready, so that a list of what is new since the last one is short.
-- sequence: 0 while it never was ready. A module that gets a further ID is listed again.
ALTER TABLE candidates ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;
UPDATE candidates SET sequence = number WHERE state = 0;
INSERT INTO numbers (name, value) SELECT 'sequence', coalesce(max(number), 0) FROM candidates;
-- A copy of the index has the same number: a place in it that the copy has not reached is not used.
INSERT INTO numbers (name, value) VALUES ('store', (random() & 9007199254740991) | 1);
CREATE INDEX candidates_by_sequence ON candidates (ns, sequence, number) WHERE sequence > 0;
CREATE TRIGGER candidate_ready AFTER INSERT ON candidates WHEN NEW.state = 0
BEGIN
	UPDATE numbers SET value = value + 1 WHERE name = 'sequence';
	UPDATE candidates SET sequence = (SELECT value FROM numbers WHERE name = 'sequence')
	WHERE number = NEW.number;
END;
CREATE TRIGGER candidate_settled AFTER UPDATE OF state ON candidates WHEN NEW.state = 0 AND OLD.state <> 0
BEGIN
	UPDATE numbers SET value = value + 1 WHERE name = 'sequence';
	UPDATE candidates SET sequence = (SELECT value FROM numbers WHERE name = 'sequence')
	WHERE number = NEW.number;
END;
CREATE TRIGGER candidate_described AFTER UPDATE OF description, file_name, git_revision, ci_run, distribution, suite, package ON candidates WHEN NEW.state = 0
BEGIN
	UPDATE numbers SET value = value + 1 WHERE name = 'sequence';
	UPDATE candidates SET sequence = (SELECT value FROM numbers WHERE name = 'sequence')
	WHERE number = NEW.number;
END;
CREATE TRIGGER id_added AFTER INSERT ON ids
WHEN EXISTS (SELECT 1 FROM candidates WHERE module = NEW.module AND sequence > 0)
BEGIN
	UPDATE numbers SET value = value + 1 WHERE name = 'sequence';
	UPDATE candidates SET sequence = (SELECT value FROM numbers WHERE name = 'sequence')
	WHERE module = NEW.module AND sequence > 0;
END;
