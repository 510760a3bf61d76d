-- How many jobs of each kind there are, kept up by triggers, so that a scrape reads one row and not all
-- jobs; and the jobs of a namespace, in the order of their numbers.
CREATE TABLE job_counts (
	kind TEXT NOT NULL PRIMARY KEY,
	going INTEGER NOT NULL,
	failed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO job_counts SELECT kind, sum(1 - failed), sum(failed) FROM jobs GROUP BY kind;
CREATE TRIGGER job_counted AFTER INSERT ON jobs
BEGIN
	INSERT INTO job_counts VALUES (NEW.kind, 1 - NEW.failed, NEW.failed)
		ON CONFLICT (kind) DO UPDATE SET going = going + 1 - NEW.failed, failed = failed + NEW.failed;
END;
CREATE TRIGGER job_discounted AFTER DELETE ON jobs
BEGIN
	UPDATE job_counts SET going = going - (1 - OLD.failed), failed = failed - OLD.failed
	WHERE kind = OLD.kind;
END;
CREATE TRIGGER job_recounted AFTER UPDATE OF failed ON jobs WHEN NEW.failed <> OLD.failed
BEGIN
	UPDATE job_counts SET going = going + OLD.failed - NEW.failed,
		failed = failed + NEW.failed - OLD.failed
	WHERE kind = NEW.kind;
END;
CREATE INDEX jobs_of_ns ON jobs (ns, number);
CREATE INDEX jobs_by_age ON jobs (kind, created, lease_until) WHERE failed = 0;
