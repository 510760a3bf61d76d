-- The order of jobs: namespaces take turns, and within one a job comes before those that are due later
-- than it by more than its size costs. slow: it ran out of the time that a quick job has; lane 1: it
-- waits among the slow ones, which never take all workers.
ALTER TABLE jobs ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN slow INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN lane INTEGER GENERATED ALWAYS AS (slow OR size > 67108864) VIRTUAL;
ALTER TABLE jobs ADD COLUMN turn INTEGER GENERATED ALWAYS AS (next + (size >> 20)) VIRTUAL;
UPDATE jobs SET size = coalesce((SELECT c.size FROM candidates c WHERE c.number = candidate), 0);
CREATE TRIGGER jobs_size AFTER INSERT ON jobs WHEN NEW.candidate IS NOT NULL BEGIN
	UPDATE jobs SET size = coalesce((SELECT c.size FROM candidates c WHERE c.number = NEW.candidate), 0)
	WHERE number = NEW.number;
END;
CREATE INDEX jobs_turn ON jobs (kind, lane, ns, turn, number) WHERE failed = 0;
CREATE INDEX jobs_leased ON jobs (kind) WHERE lease_until > 0;
