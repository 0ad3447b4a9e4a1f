package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Fortran wrapper is the C wrapper's code with other arguments: everything comes by reference, handles are
// integers, indices begin at one, and ignored statuses and buffers in place are addresses of their own. So
// the body first makes C's view of each argument that the shape looks at, and passes the arguments on as they
// came.

// handles are the parameters that are handles, and the MPI object each is of.
var handles = map[string]string{
	"comm": "Comm", "newcomm": "Comm", "datatype": "Type", "sendtype": "Type", "recvtype": "Type", "origin_datatype": "Type",
	"result_datatype": "Type", "op": "Op", "request": "Request", "message": "Message", "win": "Win", "fh": "File",
}

// byReference are handle parameters that are pointers in C too, in some shapes or in all.
func byReference(shape, param string) bool {
	switch param {
	case "request", "message", "newcomm":
		return true
	case "comm":
		return shape == "comm_free"
	case "win":
		return shape == "win_create" || shape == "win_free"
	case "fh":
		return shape == "file_open" || shape == "file_close"
	}
	return false
}

// texts are character arguments, each of which brings its length behind all other arguments.
var texts = []string{"filename", "datarep", "command", "argv", "array_of_commands", "array_of_argv", "port_name", "service_name", "stringtag"}

// wide are the parameters that are 8 bytes in a large-count binding.
var wide = regexp.MustCompile(`^(count|sendcount|recvcount|origin_count|result_count|target_count|incount|outcount|size|.*displ?s?)$`)

// always are 8 bytes in every binding: addresses and offsets.
var always = []string{"offset", "disp"}

// word is a name that is not a field of something.
var word = regexp.MustCompile(`(?:^|[^.>a-z_0-9])([a-z_]+)\b`)

// view declares C's view of a parameter, or is empty if it is the same as Fortran's.
func view(f Function, param string) string {
	from := "f_" + param
	switch {
	case param == "status" || param == "array_of_statuses":
		return fmt.Sprintf("mrl_word %s = mrl_fortran_status(%s, binding);", param, from)
	case param == "sendbuf" || param == "recvbuf":
		return fmt.Sprintf("mrl_word %s = mrl_fortran_buffer(%s, binding);", param, from)
	case param == "array_of_requests":
		count := "f_count"
		if f.Has("incount") {
			count = "f_incount"
		}
		return fmt.Sprintf("mrl_word %s = mrl_fortran_requests(%s, *(const int *)%s);", param, from, count)
	case byReference(f.Shape, param):
		return fmt.Sprintf("mrl_word its_%s = mrl_fortran_%s(%s), %s = (mrl_word)(uintptr_t)&its_%s;", param, handles[param], from, param, param)
	case handles[param] != "":
		return fmt.Sprintf("mrl_word %s = mrl_fortran_%s(%s);", param, handles[param], from)
	case slices.Contains([]string{"flag", "index", "outcount", "array_of_indices"}, param), strings.HasSuffix(param, "counts"), strings.HasSuffix(param, "types"):
		return fmt.Sprintf("mrl_word %s = %s;", param, from)
	case slices.Contains(always, param) || f.Wide && wide.MatchString(param):
		return fmt.Sprintf("mrl_word %s = (mrl_word)*(const int64_t *)%s;", param, from)
	}
	return fmt.Sprintf("mrl_word %s = (mrl_word)(int64_t)*(const int *)%s;", param, from)
}

// views declares the views of the parameters that a piece of code looks at, but for those in done.
func views(f Function, code string, done map[string]bool) string {
	used := map[string]bool{}
	for _, w := range word.FindAllStringSubmatch(code, -1) {
		used[w[1]] = true
	}
	var b strings.Builder
	for _, p := range f.Params {
		if used[p] && !done[p] {
			done[p] = true
			b.WriteString("    " + view(f, p) + "\n")
		}
	}
	return b.String()
}

// fortranName is the name all bindings begin with.
func (f Function) fortranName() string { return strings.ToLower(strings.TrimSuffix(f.Name, "_c")) }

// bindings are the Fortran entry points of a function: the suffix of the name, and the constant that says
// which it is. Large-count bindings exist in mpi_f08 only.
func (f Function) bindings() [][2]string {
	if f.Wide {
		return [][2]string{{"_f08_large_", "MRL_F08"}, {"_f08ts_large_", "MRL_F08TS"}}
	}
	list := [][2]string{{"_", "MRL_F77"}, {"_f08_", "MRL_F08"}, {"_f08ts_", "MRL_F08TS"}}
	if f.Has("baseptr") {
		list = append(list, [2]string{"_cptr_", "MRL_CPTR"})
	}
	return list
}

func fortranWrapper(f Function) string {
	s := shapes[f.Shape]
	params := slices.Clone(f.Params)
	params = append(params, "ierror")
	for _, p := range f.Params {
		if slices.Contains(texts, p) {
			params = append(params, "length_of_"+p)
		}
	}
	var declared, passed []string
	for _, p := range params {
		declared = append(declared, "mrl_word f_"+p)
		if p == "status" || p == "array_of_statuses" {
			passed = append(passed, fmt.Sprintf("mrl_fortran_passed(%s, f_%s)", p, p))
		} else {
			passed = append(passed, "f_"+p)
		}
	}
	untouched := make([]string, len(params))
	for i, p := range params {
		untouched[i] = "f_" + p
	}
	base := map[bool]string{true: "1", false: "0"}
	fortran := func(code string) string {
		code = strings.NewReplacer("$base", base[true], "mrl_sum_types(", "mrl_sum_fortran_types(",
			"(const char *)filename, SIZE_MAX", "(const char *)f_filename, (uint32_t)f_length_of_filename", "MRL_REQ_COMM, ", "MRL_REQ_COMM, MRL_REQ_FORTRAN | ", "(int64_t)newcomm", "(int64_t)f_newcomm").Replace(fill(code, f))
		return code
	}
	before, after, write, failed := fortran(s.before), fortran(s.after), fortran(s.write), fortran(s.failed)

	var b strings.Builder
	fmt.Fprintf(&b, "static void fortran_%s(mrl_function *next, enum mrl_binding binding, struct mrl_caller caller, %s)\n{\n", f.Name, strings.Join(declared, ", "))
	fmt.Fprintf(&b, "    mrl_fortran_%d *call = (mrl_fortran_%d *)next;\n", len(params), len(params))
	fmt.Fprintf(&b, "    struct mrl_thread *t = mrl_enter();\n    if (unlikely(!t)) {\n        call(%s);\n        return;\n    }\n    (void)binding;\n", strings.Join(untouched, ", "))
	done := map[string]bool{}
	statuses := ""
	for _, p := range []string{"status", "array_of_statuses"} {
		if f.Has(p) {
			statuses += " " + p
		}
	}
	now := calling(f, "caller")
	b.WriteString(views(f, before+statuses+" "+now, done))
	if before != "" {
		b.WriteString("    " + strings.TrimRight(before, "\n ") + "\n")
	}
	b.WriteString("    uint64_t start = mrl_start(t);\n    " + now + "\n")
	fmt.Fprintf(&b, "    call(%s);\n", strings.Join(passed, ", "))
	b.WriteString("    uint64_t end = mrl_stop(t, start);\n    int rc = f_ierror ? *(const int *)f_ierror : 0;\n")
	b.WriteString(s.fails())
	if failed != "" {
		b.WriteString("        " + failed + "\n")
	}
	fmt.Fprintf(&b, "        mrl_failed(t, MRL_FN_%s, caller, start, end, rc);\n        return;\n    }\n", f.Name)
	fmt.Fprintf(&b, "    struct mrl_call c = {.start = start, .end = end, .peer = MRL_NO_PEER, .path = mrl_path(t, MRL_FN_%s, caller)%s};\n", f.Name, s.flags())
	if after != "" {
		b.WriteString("    mrl_check_caches(t);\n" + views(f, after+write, done) + strings.TrimPrefix(strings.ReplaceAll(after, "\n    ", "\n"), "\n") + "\n")
	} else {
		b.WriteString(views(f, write, done))
	}
	b.WriteString("    uint64_t at = " + fortran(s.recorded(f)) + ";\n")
	if write != "" {
		b.WriteString("    " + write + "\n")
	}
	b.WriteString("    mrl_commit(t, at);\n}\n")

	for _, binding := range f.bindings() {
		name := f.fortranName() + binding[0]
		fmt.Fprintf(&b, "MRL_EXPORT void %s(%s)\n{\n    fortran_%s(mrl_fortran_next(MRL_FN_%s, %s), %s, MRL_CALLER, %s);\n}\n", name,
			strings.Join(declared, ", "), f.Name, f.Name, binding[1], binding[1], strings.Join(untouched, ", "))
		if f.Wide { // as MPICH has it from 4.1 on
			fmt.Fprintf(&b, "MRL_ALIAS(%s_c%s, %s)\n", f.fortranName(), strings.Replace(binding[0], "_large", "", 1), name)
		}
		if binding[1] == "MRL_F77" {
			fmt.Fprintf(&b, "MRL_PLAIN(%s, %s)\n", f.fortranName(), name)
			for _, alias := range []string{f.fortranName() + "__", strings.ToUpper(f.fortranName())} {
				fmt.Fprintf(&b, "MRL_ALIAS(%s, %s)\n", alias, name)
			}
		}
	}
	return b.String()
}

func fortranWrappers(t *Table) string {
	var b strings.Builder
	b.WriteString(generated + "#include \"calls.h\"\n#include \"fortran.h\"\n\n")
	most := 0
	for _, f := range t.Functions {
		most = max(most, len(f.Params)+4)
	}
	for n := 1; n <= most; n++ {
		fmt.Fprintf(&b, "typedef void mrl_fortran_%d(%s);\n", n, strings.TrimSuffix(strings.Repeat("mrl_word, ", n), ", "))
	}
	for _, f := range t.Functions {
		if f.Shape != "hand" {
			b.WriteString("\n" + fortranWrapper(f))
		}
	}
	return b.String()
}
