-- Where a build comes from: provenance.h.
ALTER TABLE candidates ADD COLUMN git_revision TEXT NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN git_branch TEXT NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN git_repository TEXT NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN ci_run TEXT NOT NULL DEFAULT '';
ALTER TABLE uploads ADD COLUMN git_revision TEXT NOT NULL DEFAULT '';
ALTER TABLE uploads ADD COLUMN git_branch TEXT NOT NULL DEFAULT '';
ALTER TABLE uploads ADD COLUMN git_repository TEXT NOT NULL DEFAULT '';
ALTER TABLE uploads ADD COLUMN ci_run TEXT NOT NULL DEFAULT '';
CREATE INDEX candidates_by_revision ON candidates (ns, git_revision) WHERE git_revision <> '';
CREATE INDEX candidates_by_run ON candidates (ns, ci_run) WHERE ci_run <> '';
