package main

import (
	"cmp"
	"fmt"
	"log"
	"regexp"
	"strings"
)

// shape is a kind of call: its operation class in cshim/layout.h, and the statements around and after
// the call. before runs before the clock starts; after runs when the call has succeeded and must fill
// the record c; record writes it, if not as mrl_write does; write is what follows it.
type shape struct {
	op            string
	start         Start
	before, after string
	record, write string
	failed        string // when the call has failed
	receives      bool   // a message, even if it fails for want of room for all of it
	collective    bool   // all members of a communicator make the call, and move data or only meet
	matched       bool   // looks for a message by MPI_Mprobe's rules, or receives one that was found by them
}

const (
	sent = `
        c.comm = mrl_comm(t, comm);
        c.peer = mrl_peer(dest);
        c.tag = mrl_tag(tag);
        c.out = c.peer == MRL_PROC_NULL ? 0 : mrl_bytes(t, count, datatype, $wide);`
	ours     = "uint64_t ours[4];\n    status = mrl_status(status, ours);"
	received = `
        struct mrl_received_message m = mrl_read_status(status);
        c.peer = m.peer;
        c.tag = m.tag;
        c.in = m.bytes;`
	posted = `
        c.comm = mrl_comm(t, comm);
        c.peer = mrl_peer(source);
        c.tag = mrl_tag(tag);`
	holdOne  = "struct mrl_request *held = mrl_request_hold(mrl_given(request));"
	holdMsg  = "struct mrl_request *held = mrl_request_hold(MRL_MESSAGE(mrl_given(message)));"
	takeMsg  = "\n        c.comm = held ? held->comm : 0;"
	putMsg   = "\n        if (c.peer != MRL_PROC_NULL)\n            mrl_keep_message(mrl_handle(mrl_handle_at(message, 0)), &m, c.comm);"
	onWindow = "\n        c.comm = mrl_map_get(&mrl_windows, mrl_handle(win));"
	onFile   = "\n        c.comm = mrl_on_file(fh);"
	read     = "\n        mrl_file_moved(mrl_file(fh), MRL_IO_MPI_READ$all, c.in, c.end - c.start);"
	written  = "\n        mrl_file_moved(mrl_file(fh), MRL_IO_MPI_WRITE$all, c.out, c.end - c.start);"
	target   = onWindow + "\n        c.peer = mrl_peer(target_rank);"
	origin   = "mrl_bytes(t, origin_count, origin_datatype, $wide)"
	bothWays = "\n        c.flags = MRL_COLLECTIVE; // whose record has room for bytes in and bytes out"
	notNull  = "if (c.peer != MRL_PROC_NULL) "
	twoWay   = `
        c.comm = mrl_comm(t, comm);
        c.peer = mrl_peer(dest);
        c.tag = mrl_tag(sendtag);
        c.out = c.peer == MRL_PROC_NULL ? 0 : $sent;`
	statusAll = "    if (held && (intptr_t)array_of_statuses == mrl_abi.status_ignore)\n        array_of_statuses = (mrl_word)(uintptr_t)held->statuses;"
)

func unlessNobody(bytes string) string { return "c.peer == MRL_PROC_NULL ? 0 : " + bytes }

func follow(kind, bytes string) string {
	return fmt.Sprintf("\n        c.flags |= mrl_follow(t, &c, request, MRL_REQ_%s, $follow, %s);", kind, bytes)
}

// shapes is what functions.txt may say in its first column.
var shapes = map[string]shape{
	"send":  {op: "SEND", after: sent + "$startsend"},
	"bsend": {op: "BSEND", after: sent + "$startsend"},
	"ssend": {op: "SSEND", after: sent + "$startsend"},
	"rsend": {op: "RSEND", after: sent + "$startsend"},
	"recv":  {op: "RECV", receives: true, before: ours, after: "\n        c.comm = mrl_comm(t, comm);" + received},
	"irecv": {op: "RECV", start: Immediate, after: posted + follow("RECV", unlessNobody("mrl_bytes(t, count, datatype, $wide)"))},
	"recv_init": {op: "RECV", start: Persistent, after: posted +
		follow("RECV", unlessNobody("mrl_bytes(t, count, datatype, $wide)"))},
	"mrecv": {op: "RECV", matched: true, receives: true, before: ours + "\n    " + holdMsg, after: takeMsg + received + "\n        mrl_request_drop(held);"},
	"imrecv": {op: "RECV", matched: true, start: Immediate, before: holdMsg, after: `
        if (held) {
            c.comm = held->comm;
            c.peer = held->peer;
            c.tag = held->tag;
            mrl_request_drop(held);
        }` + follow("RECV", "mrl_bytes(t, count, datatype, $wide)")},
	"sendrecv": {op: "SENDRECV", receives: true, before: ours,
		after:  strings.ReplaceAll(twoWay, "$sent", "mrl_bytes(t, sendcount, sendtype, $wide)"),
		record: "mrl_write_both(t, MRL_OP_SENDRECV, &c, status)"},
	"sendrecv_replace": {op: "SENDRECV", receives: true, before: ours,
		after:  strings.ReplaceAll(twoWay, "$sent", "mrl_bytes(t, count, datatype, $wide)"),
		record: "mrl_write_both(t, MRL_OP_SENDRECV, &c, status)"},
	"isendrecv": {op: "SENDRECV", start: Immediate,
		after: strings.ReplaceAll(twoWay, "$sent", "mrl_bytes(t, sendcount, sendtype, $wide)") +
			strings.ReplaceAll(twoWayRequest, "$room", "mrl_bytes(t, recvcount, recvtype, $wide)")},
	"isendrecv_replace": {op: "SENDRECV", start: Immediate,
		after: strings.ReplaceAll(twoWay, "$sent", "mrl_bytes(t, count, datatype, $wide)") +
			strings.ReplaceAll(twoWayRequest, "$room", "mrl_bytes(t, count, datatype, $wide)")},

	"probe": {op: "PROBE", before: ours, after: `
        struct mrl_received_message m = mrl_read_status(status);
        c.comm = mrl_comm(t, comm);
        c.peer = m.peer;
        c.tag = m.tag;`},
	"iprobe": {op: "TEST", start: Immediate, before: ours, after: posted + `
        if (*(const int *)flag) {
            struct mrl_received_message m = mrl_read_status(status);
            c.peer = m.peer;
            c.tag = m.tag;
            c.flags |= MRL_HIT;
        }`},
	"mprobe": {op: "PROBE", matched: true, before: ours, after: `
        struct mrl_received_message m = mrl_read_status(status);
        c.comm = mrl_comm(t, comm);
        c.peer = m.peer;
        c.tag = m.tag;` + putMsg},
	"improbe": {op: "TEST", matched: true, start: Immediate, before: ours, after: posted + `
        if (*(const int *)flag) {
            struct mrl_received_message m = mrl_read_status(status);
            c.peer = m.peer;
            c.tag = m.tag;
            c.flags |= MRL_HIT;` + strings.ReplaceAll(putMsg, "\n", "\n    ") + `
        }`},

	"psend_init": {op: "REQUEST", start: Persistent, after: `
        c.comm = mrl_comm(t, comm);
        c.peer = mrl_peer(dest);
        c.tag = mrl_tag(tag);` + follow("SEND", unlessNobody("mrl_count(partitions, false) * mrl_bytes(t, count, datatype, true)"))},
	"precv_init": {op: "REQUEST", start: Persistent, after: posted +
		follow("RECV", unlessNobody("mrl_count(partitions, false) * mrl_bytes(t, count, datatype, true)"))},
	"pready":   {op: "REQUEST"},
	"parrived": {op: "TEST", start: Immediate, after: "\n        c.flags |= *(const int *)flag ? MRL_HIT : 0;"},

	"wait": {op: "WAIT", before: ours + "\n    " + holdOne, write: "at = mrl_complete(t, held, status, at);", failed: "mrl_request_keep(held);"},
	"test": {op: "TEST", start: Immediate, before: ours + "\n    " + holdOne,
		after: "\n        c.flags |= *(const int *)flag ? MRL_HIT : 0;",
		write: "if (c.flags & MRL_HIT)\n        at = mrl_complete(t, held, status, at);\n    else\n        mrl_request_keep(held);", failed: "mrl_request_keep(held);"},
	"get_status": {op: "TEST", start: Immediate, after: "\n        c.flags |= *(const int *)flag ? MRL_HIT : 0;"},
	"get_some":   {op: "TEST", start: Immediate, after: "\n        c.flags |= *(const int *)outcount > 0 ? MRL_HIT : 0;"},
	"waitall": {op: "WAIT", before: holdAll("count") + statusAll,
		write:  "at = mrl_complete_all(t, held, n, array_of_statuses, at);",
		failed: "mrl_keep_all(held, n);"},
	"testall": {op: "TEST", start: Immediate, before: holdAll("count") + statusAll,
		after:  "\n        c.flags |= *(const int *)flag ? MRL_HIT : 0;",
		write:  "if (c.flags & MRL_HIT)\n        at = mrl_complete_all(t, held, n, array_of_statuses, at);\n    else\n        mrl_keep_all(held, n);",
		failed: "mrl_keep_all(held, n);"},
	"waitany": {op: "WAIT", before: ours + "\n    " + holdAll("count"),
		write: completeOne, failed: "mrl_keep_all(held, n);"},
	"testany": {op: "TEST", start: Immediate, before: ours + "\n    " + holdAll("count"),
		after: "\n        c.flags |= *(const int *)flag ? MRL_HIT : 0;",
		write: completeOne, failed: "mrl_keep_all(held, n);"},
	"waitsome": {op: "WAIT", before: holdAll("incount") + statusAll,
		write: completeSome, failed: "mrl_keep_all(held, n);"},
	"testsome": {op: "TEST", start: Immediate, before: holdAll("incount") + statusAll,
		after: "\n        c.flags |= *(const int *)outcount > 0 ? MRL_HIT : 0;",
		write: completeSome, failed: "mrl_keep_all(held, n);"},
	"start": {op: "REQUEST", start: Immediate, write: "at = mrl_started(t, mrl_handle_at(request, 0), &c, at);"},
	"startall": {op: "REQUEST", start: Immediate,
		write: "for (int64_t i = 0; array_of_requests && i < (int)count; i++)\n        at = mrl_started(t, mrl_handle_at(array_of_requests, i), &c, at);"},
	"cancel": {op: "REQUEST", before: holdOne, write: "mrl_request_cancelling(held);", failed: "mrl_request_keep(held);"},
	"request_free": {op: "REQUEST", before: holdOne, write: "mrl_abandon(t, held);",
		failed: "mrl_request_keep(held);"},
	"flush":    {op: "LOCAL", start: Immediate, after: follow("OTHER", "0")},
	"grequest": {op: "REQUEST", start: Immediate, after: follow("OTHER", "0")},

	"barrier":  {op: "BARRIER", collective: true, after: collective},
	"n_to_n":   {op: "N_TO_N", collective: true, after: collective},
	"one_to_n": {op: "ONE_TO_N", collective: true, after: collective},
	"n_to_one": {op: "N_TO_ONE", collective: true, after: collective},
	"scan":     {op: "SCAN", collective: true, after: collective},
	"neighbor": {op: "NEIGHBOR", collective: true, after: collective},

	"put":   {op: "PUT", after: target + "\n        " + notNull + "\n            c.out = " + origin + ";"},
	"get":   {op: "GET", after: target + "\n        " + notNull + "\n            c.in = " + origin + ";"},
	"fetch": {op: "FETCH", after: target + bothWays + "\n        " + notNull + "{\n            c.out = $fetchout;\n            c.in = $fetchin;\n        }"},
	"rput": {op: "PUT", start: Immediate, after: target + "\n        " + notNull + "\n            c.out = " + origin + ";" +
		follow("RMA", "0")},
	"rget": {op: "GET", start: Immediate, after: target + "\n        " + notNull + "\n            c.in = " + origin + ";" +
		follow("RMA", "0")},
	"rfetch": {op: "FETCH", start: Immediate, after: target + bothWays + "\n        " + notNull +
		"{\n            c.out = $fetchout;\n            c.in = $fetchin;\n        }" + follow("RMA", "0")},
	"fence":    {op: "FENCE", after: onWindow},
	"rma_sync": {op: "RMA_SYNC", after: onWindow + "$rank"},
	"win_create": {op: "WINDOW", after: "\n        c.comm = mrl_comm(t, comm);" +
		"\n        mrl_map_put(&mrl_windows, mrl_handle(mrl_handle_at(win, 0)), c.comm);"},
	"win_free": {op: "WINDOW", before: "uint32_t on = mrl_map_get(&mrl_windows, mrl_given(win));",
		after: "\n        c.comm = on;"},

	"file_open": {op: "FILE_OTHER", after: "\n        c.comm = mrl_comm(t, comm);" +
		"\n        mrl_file_opened(fh, c.comm, (const char *)filename, SIZE_MAX, c.end - c.start);"},
	"file_close": {op: "FILE_OTHER", before: "uint32_t on = mrl_on_file(mrl_given_file(fh));",
		after: "\n        c.comm = on;"},
	"file_other": {op: "FILE_OTHER", after: "$onfile"},
	"file_read":  {op: "FILE_READ", before: ours, after: onFile + "\n        c.in = mrl_moved(status);" + read},
	"file_write": {op: "FILE_WRITE", before: ours, after: onFile + "\n        c.out = mrl_moved(status);" + written},
	"file_iread": {op: "FILE_READ", start: Immediate, after: onFile + "\n        c.in = mrl_bytes(t, count, datatype, $wide);" + read + "\n        c.in = 0;" + follow("FILE", "0")},
	"file_iwrite": {op: "FILE_WRITE", start: Immediate, after: onFile +
		"\n        c.out = mrl_bytes(t, count, datatype, $wide);" + written + follow("OTHER", "0")},
	"file_begin":     {op: "FILE_OTHER", start: Immediate, after: onFile},
	"file_read_end":  {op: "FILE_READ", before: ours, after: onFile + "\n        c.in = mrl_moved(status);" + read},
	"file_write_end": {op: "FILE_WRITE", before: ours, after: onFile + "\n        c.out = mrl_moved(status);" + written},

	"comm_create": {op: "COMM", after: "\n        c.comm = mrl_comm(t, comm);\n        mrl_comm_made(t, comm, mrl_handle_at(newcomm, 0), $bygroup);"},
	"comm_idup": {op: "COMM", start: Immediate, after: "\n        c.comm = mrl_comm(t, comm);\n        c.tag = (int32_t)mrl_comm_ordinal(c.comm);" +
		follow("COMM", "(int64_t)newcomm") + "\n        c.tag = 0;"},
	"comm_born": {op: "COMM", after: "\n        mrl_comm_made(t, 0, mrl_handle_at(newcomm, 0), true);"},
	"comm_free": {op: "COMM", before: "uint32_t on = mrl_map_get(&mrl_comms, mrl_given(comm));",
		after: "\n        c.comm = on;\n        mrl_comm_freed(on);"},

	"type":      {op: "DATATYPE"},
	"type_free": {op: "DATATYPE", after: "\n        atomic_fetch_add(&mrl.epoch, 1);"},
	"local":     {op: "LOCAL"},
	"hand":      {op: "NONE"},
}

const (
	twoWayRequest = `
        struct mrl_call incoming = c;
        incoming.peer = mrl_peer(source);
        incoming.tag = mrl_tag(recvtag);
        c.flags |= mrl_follow(t, &incoming, request, MRL_REQ_RECV, MRL_REQ_ACTIVE, incoming.peer == MRL_PROC_NULL ? 0 : $room);`
	collective = `
        c.comm = mrl_comm(t, comm);
        c.flags = MRL_COLLECTIVE;$root$bytes$startcollective`
	completeOne  = "at = mrl_complete_some(t, held, n, (const int *)index, 1, $base, status, at);"
	completeSome = "at = mrl_complete_some(t, held, n, (const int *)array_of_indices, *(const int *)outcount, $base, array_of_statuses, at);"
)

func holdAll(count string) string {
	return "int64_t n = (int)" + count + ";\n    struct mrl_scratch *held = mrl_hold_all(n, array_of_requests);\n"
}

// calling says which call the thread is in, and whom it may wait for.
func calling(f Function, caller string) string {
	peer := "MRL_NO_PEER"
	if f.Start == Blocking {
		for _, p := range []string{"dest", "source", "root"} {
			if f.Has(p) {
				peer = "mrl_peer(" + p + ")"
			}
		}
	}
	comm := "0"
	if f.Has("comm") && !byReference(f.Shape, "comm") {
		comm = "comm"
	}
	return fmt.Sprintf("mrl_calling(t, MRL_FN_%s, %s, start, %s, %s);", f.Name, caller, peer, comm)
}

// fails begins what is done when a call has failed, and flags what is noted of one that goes on in spite of it.
func (s shape) fails() string {
	if s.receives {
		return "    bool cut = unlikely(rc) && mrl_cut_off(rc);\n    if (unlikely(rc && !cut)) {\n"
	}
	return "    if (unlikely(rc)) {\n"
}

func (s shape) flags() string {
	if s.receives {
		return ", .flags = cut ? MRL_FAILED : 0"
	}
	return ""
}

// unchecked is what looks behind an argument: before the call, the library has not yet seen whether that is possible.
var unchecked = regexp.MustCompile(`mrl_handle_at\(|\*\(const `)

func wrapper(f Function) string {
	s := shapes[f.Shape]
	if unchecked.MatchString(s.before) {
		log.Fatalf("functions.txt:%d: %s is looked into before the library has checked it: use mrl_given", f.Line, f.Name)
	}
	declared := make([]string, len(f.Params))
	if len(f.Params) == 0 {
		declared = []string{"void"}
	}
	for i, p := range f.Params {
		declared[i] = "mrl_word " + p
	}
	call := fmt.Sprintf("((mrl_taking_%d *)mrl_next(MRL_FN_%s))(%s)", len(f.Params), f.Name, strings.Join(f.Params, ", "))

	var b strings.Builder
	fmt.Fprintf(&b, "MRL_EXPORT int %s(%s)\n{\n", f.Name, strings.Join(declared, ", "))
	b.WriteString("    struct mrl_thread *t = mrl_enter();\n    if (unlikely(!t))\n        return " + call + ";\n")
	if s.before != "" {
		b.WriteString("    " + strings.TrimRight(s.before, "\n ") + "\n")
	}
	b.WriteString("    uint64_t start = mrl_start(t);\n    " + calling(f, "MRL_CALLER") + "\n")
	b.WriteString("    int rc = " + call + ";\n")
	b.WriteString("    uint64_t end = mrl_stop(t, start);\n")
	b.WriteString(s.fails())
	if s.failed != "" {
		b.WriteString("        " + s.failed + "\n")
	}
	fmt.Fprintf(&b, "        return mrl_failed(t, MRL_FN_%s, MRL_CALLER, start, end, rc);\n    }\n", f.Name)
	fmt.Fprintf(&b, "    struct mrl_call c = {.start = start, .end = end, .peer = MRL_NO_PEER, .path = mrl_path(t, MRL_FN_%s, MRL_CALLER)%s};\n", f.Name, s.flags())
	if s.after != "" {
		b.WriteString("    mrl_check_caches(t);" + strings.ReplaceAll(s.after, "\n    ", "\n") + "\n")
	}
	b.WriteString("    uint64_t at = " + s.recorded(f) + ";\n")
	if s.write != "" {
		b.WriteString("    " + s.write + "\n")
	}
	b.WriteString("    mrl_commit(t, at);\n    return rc;\n}\n")
	return strings.ReplaceAll(fill(b.String(), f), "$base", "0")
}

// fill replaces what depends on the function rather than on its shape.
func fill(text string, f Function) string {
	startSend, startCollective, followFlags := "", "", "MRL_REQ_ACTIVE"
	switch f.Start {
	case Persistent:
		followFlags = "MRL_REQ_PERSISTENT"
		startSend = "\n        int64_t bytes = c.out;\n        c.out = 0;" + follow("SEND", "bytes")
		startCollective = follow("COLLECTIVE", "c.out") + "\n        c.out = c.in = 0;"
	case Immediate:
		startSend = follow("SEND", "c.out")
		startCollective = follow("COLLECTIVE", "c.out")
	}
	root, rank, onfile := "", "", ""
	if f.Has("root") {
		root = "\n        c.peer = mrl_peer(root);\n        unsigned part = mrl_part(c.comm, c.peer);"
	}
	if f.Has("rank") {
		rank = "\n        c.peer = mrl_peer(rank);"
	}
	if f.Has("fh") {
		onfile = onFile
	}
	all := ""
	if strings.Contains(f.Name, "_all") || strings.Contains(f.Name, "_ordered") {
		all = "_ALL"
	}
	fetchOut, fetchIn := "mrl_type_size(t, datatype)", "mrl_type_size(t, datatype)"
	if f.Has("origin_count") {
		fetchOut, fetchIn = origin, "mrl_bytes(t, result_count, result_datatype, $wide)"
	}
	if f.Ignores("origin_addr", "no_op") {
		fetchOut = "mrl_handle(op) == mrl_abi.no_op ? 0 : " + fetchOut
	}
	r := strings.NewReplacer("$startsend", startSend, "$startcollective", startCollective, "$root", root,
		"$rank", rank, "$onfile", onfile, "$all", all, "$fetchout", fetchOut, "$fetchin", fetchIn, "$bytes", byteCounts(f),
		"$bygroup", fmt.Sprint(f.Name == "MPI_Comm_create_group"))
	// Replacements may themselves contain the last two.
	return strings.NewReplacer("$follow", followFlags, "$wide", fmt.Sprint(f.Wide)).Replace(r.Replace(text))
}

// byteCounts writes the statements that set c.out and c.in from the table's out=, in=, place=, inplace=.
func byteCounts(f Function) string {
	var b strings.Builder
	for _, side := range []struct{ field, key, place, buffer string }{
		{"out", "out", "place", "sendbuf"}, {"in", "in", "inplace", "recvbuf"},
	} {
		spec, ok := f.Bytes[side.key]
		if !ok {
			continue
		}
		value := expression(spec, f)
		if place, ok := f.Bytes[side.place]; ok {
			value = fmt.Sprintf("(intptr_t)%s == mrl_abi.in_place ? %s : %s", side.buffer, expression(place, f), value)
		}
		fmt.Fprintf(&b, "\n        c.%s = %s;", side.field, value)
	}
	return b.String()
}

var term = regexp.MustCompile(`^(\w+)(?:\[(\w+)\])?\*(\w+)(?:\*(\w+))?(?:@(\w+))?$`)

// expression turns COUNT*TYPE, COUNT*TYPE*n, COUNTS[n]*TYPE, COUNTS[n]*TYPES or COUNTS[me]*TYPE into C.
func expression(spec string, f Function) string {
	m := term.FindStringSubmatch(spec)
	if m == nil {
		log.Fatalf("functions.txt:%d: cannot read byte count %q", f.Line, spec)
	}
	count, index, typ, times, when := m[1], m[2], m[3], m[4], m[5]
	for _, p := range []string{count, typ} {
		if !f.Has(p) {
			log.Fatalf("functions.txt:%d: %s has no parameter %q", f.Line, f.Name, p)
		}
	}
	number := map[string]string{"n": "mrl_comm_n(c.comm)", "local": "mrl_comm_local(comm, c.comm)", "sources": "mrl_comm_sources(comm, c.comm)",
		"destinations": "mrl_comm_destinations(comm, c.comm)"}
	var value string
	switch {
	case index == "" && times == "":
		value = fmt.Sprintf("mrl_bytes(t, %s, %s, $wide)", count, typ)
	case index == "":
		value = fmt.Sprintf("mrl_times(t, mrl_count(%s, $wide) * %s, %s)", count, number[times], typ)
	case index == "me":
		value = fmt.Sprintf("mrl_times(t, mrl_count_at(%s, mrl_comm_me(c.comm), $wide), %s)", count, typ)
	case strings.HasSuffix(typ, "types"):
		value = fmt.Sprintf("mrl_sum_types(t, %s, %s, %s, $wide)", count, typ, number[index])
	default:
		value = fmt.Sprintf("mrl_times(t, mrl_sum(%s, %s, $wide), %s)", count, number[index], typ)
	}
	if f.Has("root") {
		part := map[string]string{"": "MRL_PART_MEMBER", "root": "MRL_PART_ROOT", "leaf": "MRL_PART_LEAF"}[when]
		value = fmt.Sprintf("(part & %s ? %s : 0)", part, value)
	}
	return value
}

// recorded is the call that writes a function's record.
func (s shape) recorded(f Function) string { return cmp.Or(s.record, "mrl_write(t, "+f.Op()+", &c)") }
