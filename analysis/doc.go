// Package analysis is a map: the road from what ranks have recorded to what a person reads. There is no code here.
//
// The way of a run, each room using only those before it (the table in test/lint):
//
//	record      what measurement leaves behind: record files, logs; records → aggregates
//	callgraph   aggregates → one rank's call graph
//	waitstate   logs of all ranks → who waits for whom, critical path, replays
//	profile     one rank → all ranks, along a tree of messages
//	symbol      ELF, DWARF → functions and lines; names: those of a call graph
//	run         everything known of a run: run.json
//	whatif      what the run would gain by a change: findings' remedies, and what users ask
//	tauprofile  profiles of TAU → a run, and back
//	invocation  records of component invocations (left: what each rank leaves of them)
//	summary     what a site keeps of a run
//	diagnosis   what held the run back, from knowledge (models and their rules), pattern, inference, structure
//	selection   which implementations to take, and what matters (selection/prune)
//	trace       events that a run has kept, one by one
//	otf2        a trace of another tool → the record files and logs of a run
//	pipeline    the stages joined: Conclude, Recover, Open, Choose
//
// Leaves, which nearly all may use: stat, setting, words, formula, machine, plot, series. What people read: report (text), page (HTML),
// compare (two runs), export (other tools' formats), model (fitted curves). store is the database; proxygen writes proxies for
// components' ports; analysistest makes runs for tests.
package analysis
