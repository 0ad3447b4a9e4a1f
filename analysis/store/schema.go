package store

// migrations make the tables of one version from those of the version before. A step that has been released stays as
// it is. Words in braces are the dialect's.
//
// Times are nanoseconds, and core time is added up over ranks; points in time are nanoseconds since 1970.
var migrations = []string{`
CREATE TABLE marple_store (version INTEGER NOT NULL);

CREATE TABLE application (
	id {id},
	name TEXT NOT NULL UNIQUE
);
CREATE TABLE experiment (
	id {id},
	application BIGINT NOT NULL REFERENCES application ON DELETE CASCADE,
	name TEXT NOT NULL,
	UNIQUE (application, name)
);

CREATE TABLE trial (
	id {id},
	experiment BIGINT NOT NULL REFERENCES experiment ON DELETE CASCADE,
	name TEXT NOT NULL,
	measurement TEXT NOT NULL UNIQUE, -- digest of what was measured
	imported BIGINT NOT NULL,
	started BIGINT NOT NULL,
	program TEXT NOT NULL,
	ranks BIGINT NOT NULL,
	measured BIGINT NOT NULL,
	hosts BIGINT NOT NULL,
	mpi TEXT NOT NULL,
	wall BIGINT NOT NULL,
	core_time BIGINT NOT NULL,
	call_tree BIGINT NOT NULL, -- core time of the main call tree, which shares of call paths are of
	parallel DOUBLE PRECISION NOT NULL,
	load_balance DOUBLE PRECISION NOT NULL,
	communication DOUBLE PRECISION, -- null: not defined
	core_availability DOUBLE PRECISION NOT NULL
);
CREATE INDEX trial_experiment ON trial (experiment);

CREATE TABLE parameter (
	trial BIGINT NOT NULL REFERENCES trial ON DELETE CASCADE,
	name TEXT NOT NULL,
	value DOUBLE PRECISION NOT NULL,
	PRIMARY KEY (trial, name)
) {clustered};
CREATE TABLE metadata (
	trial BIGINT NOT NULL REFERENCES trial ON DELETE CASCADE,
	name TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (trial, name)
) {clustered};

CREATE TABLE finding (
	trial BIGINT NOT NULL REFERENCES trial ON DELETE CASCADE,
	ordinal INTEGER NOT NULL,
	id TEXT NOT NULL,
	title TEXT NOT NULL,
	share DOUBLE PRECISION NOT NULL,
	seconds DOUBLE PRECISION NOT NULL,
	place TEXT NOT NULL,
	model TEXT NOT NULL,
	factor TEXT NOT NULL,
	advice TEXT NOT NULL,
	confidence TEXT NOT NULL,
	PRIMARY KEY (trial, ordinal)
) {clustered};

CREATE TABLE recognized ( -- computational models that the program embodies, as it looks
	trial BIGINT NOT NULL REFERENCES trial ON DELETE CASCADE,
	name TEXT NOT NULL,
	title TEXT NOT NULL,
	confidence DOUBLE PRECISION NOT NULL
);
CREATE INDEX recognized_trial ON recognized (trial);

CREATE TABLE metric (
	id BIGINT PRIMARY KEY,
	name TEXT NOT NULL,
	unit TEXT NOT NULL, -- empty: of a metric that was found in a run
	UNIQUE (name, unit)
);
CREATE TABLE callpath (
	id {id},
	application BIGINT NOT NULL REFERENCES application ON DELETE CASCADE,
	parent BIGINT REFERENCES callpath ON DELETE CASCADE,
	kind TEXT NOT NULL,
	name TEXT NOT NULL,
	digest TEXT NOT NULL,            -- of kinds and names from the root
	share DOUBLE PRECISION NOT NULL, -- of the main call tree's time, at least as large as in any trial
	UNIQUE (application, digest)
);
CREATE INDEX callpath_parent ON callpath (parent);

CREATE TABLE statistic (
	trial BIGINT NOT NULL REFERENCES trial ON DELETE CASCADE,
	callpath BIGINT NOT NULL REFERENCES callpath,
	metric BIGINT NOT NULL REFERENCES metric,
	inclusive DOUBLE PRECISION NOT NULL, -- over all ranks, with what is below the call path; time: with a core
	exclusive DOUBLE PRECISION,          -- without it
	ranks BIGINT,                        -- that have the call path
	least DOUBLE PRECISION,              -- inclusive, of one of these ranks
	most DOUBLE PRECISION,
	deviation DOUBLE PRECISION,          -- standard deviation over these ranks
	PRIMARY KEY (trial, callpath, metric)
) {clustered};
CREATE INDEX statistic_series ON statistic (callpath, metric, trial);

CREATE TABLE model ( -- of performance, as marple fit finds them
	id {id},
	experiment BIGINT NOT NULL REFERENCES experiment ON DELETE CASCADE,
	name TEXT NOT NULL,
	response TEXT NOT NULL,
	part TEXT NOT NULL,    -- of the samples: where, and which mode of behaviour
	digest TEXT NOT NULL,  -- of name, response and part
	family TEXT NOT NULL,
	expression TEXT NOT NULL,
	smape DOUBLE PRECISION NOT NULL,
	samples BIGINT NOT NULL,
	saved BIGINT NOT NULL,
	document TEXT NOT NULL, -- a model file
	UNIQUE (experiment, digest)
);

CREATE TABLE file (
	trial BIGINT NOT NULL REFERENCES trial ON DELETE CASCADE,
	name TEXT NOT NULL,
	digest TEXT NOT NULL,
	content {bytes} NOT NULL, -- compressed with gzip
	PRIMARY KEY (trial, name)
);

INSERT INTO metric (id, name, unit) VALUES
	(1, 'time', 'ns'), (2, 'mpi time', 'ns'), (3, 'calls', 'calls'), (4, 'bytes sent', 'B'), (5, 'bytes received', 'B'), (6, 'messages received', 'messages');
`, `
-- A series reads this index alone, in its order.
DROP INDEX statistic_series;
CREATE INDEX statistic_series ON statistic (callpath, metric, trial, inclusive);
`, `
CREATE TABLE job ( -- that a site has measured
	started BIGINT NOT NULL,
	digest TEXT NOT NULL, -- of its summary's file
	ingested BIGINT NOT NULL,
	owner TEXT NOT NULL,
	account TEXT NOT NULL,
	program TEXT NOT NULL,
	build TEXT NOT NULL,
	ranks BIGINT NOT NULL,
	wall BIGINT NOT NULL,
	core_time BIGINT NOT NULL,
	lost DOUBLE PRECISION NOT NULL, -- of core_time, for want of parallel efficiency
	load_balance DOUBLE PRECISION NOT NULL,
	finding TEXT NOT NULL, -- the first one's id
	summary TEXT NOT NULL, -- package summary
	PRIMARY KEY (started, digest)
) {monthly};
-- Sums read these alone: of a time, of a program, of a user.
CREATE INDEX job_numbers ON job (started, program, owner, account, build, finding, core_time, lost, load_balance);
CREATE INDEX job_program ON job (program, started, owner, account, build, finding, core_time, lost, load_balance);
CREATE INDEX job_owner ON job (owner, started, program, account, build, finding, core_time, lost, load_balance);
`, `
CREATE TABLE baseline ( -- trials that others are compared with, by a name
	name TEXT NOT NULL,
	trial BIGINT NOT NULL REFERENCES trial ON DELETE CASCADE,
	made BIGINT NOT NULL,
	PRIMARY KEY (name, trial)
) {clustered};
CREATE INDEX baseline_trial ON baseline (trial);
`}

// Metrics of the table above.
const (
	metricTime = iota + 1
	metricMPI
	metricCalls
	metricOut
	metricIn
	metricMessages
)
