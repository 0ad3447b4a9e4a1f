//go:build !ranks

package main

/*
#include "core.h"
static void print(const struct mrl_finish *f, void *text, uint64_t size) {
	f->print(text, size);
}
static void say(const struct mrl_finish *f, char *text) {
	f->say("%s", text);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"marple/analysis/files"
	"marple/analysis/invocation"
	"marple/analysis/knowledge"
	"marple/analysis/names"
	"marple/analysis/pipeline"
	"marple/analysis/profile"
	"marple/analysis/report"
	"marple/analysis/run"
	"marple/analysis/summary"
)

// keep stores what rank 0 has gathered, against a kill before the run is stored, which complains if it cannot be.
func keep(merged *profile.Profile, directory files.Directory) { _ = pipeline.Keep(merged, directory) }

//export marple_core_conclude
func marple_core_conclude(handle unsafe.Pointer, f *C.struct_mrl_finish) (result C.int) {
	guarded()
	defer guard(handle, &result)
	s := find(handle)
	if s == nil || s.merged == nil || f == nil {
		return C.MRL_CORE_BROKEN
	}
	conclude(s.merged, f)
	return C.MRL_CORE_DONE
}

// keepInvocations makes one file of what all ranks have left.
func keepInvocations(r *run.Run, directory files.Directory, f *C.struct_mrl_finish) {
	if directory.String() == "" {
		return
	}
	sources, err := invocation.Load(directory)
	if err = errors.Join(err, pipeline.KeepInvocations(r, directory, sources)); err == nil && f.keep_raw == 0 {
		for _, s := range sources {
			s.Remove()
		}
	}
}

// conclude is rank 0's part: report, and keep.
func conclude(merged *profile.Profile, f *C.struct_mrl_finish) {
	directory := placed(f.directory)
	path := directory.String()
	// No thread may be made here that could say so when the time has passed.
	if nodes := len(merged.Graph.Nodes); nodes > run.Large && C.GoString(f.spool) == "" {
		say(f, fmt.Sprintf("a call graph of %d nodes: the report takes some seconds", nodes))
	}
	r := pipeline.Conclude(merged, names.Guest, knowledge.Library{Directory: C.GoString(f.knowledge)})
	if f.transport != nil { // a program with MPI_COMM_WORLD
		r.StartedWith(C.GoString(f.launcher), int(f.launched))
	}
	if spool := C.GoString(f.spool); spool != "" {
		_ = summary.Of(r, C.GoString(f.job), C.GoString(f.account)).Leave(spool) // nobody is there to be told
		return
	}
	keepInvocations(r, directory, f)
	pipeline.Carry(r, C.GoString(f.machine))
	pipeline.Choose(r, C.GoString(f.families), path)
	if path != "" {
		if err := store(r, directory, report.Full(r, path)); err != nil {
			path = ""
			if f.unkept == 0 {
				say(f, fmt.Sprintf("the run cannot be kept: %v", err))
			}
		} else {
			pipeline.Tidy(directory)
		}
	}
	r.StartedAsThis()
	text := report.Text(r, path)
	if f.full != 0 {
		text = report.Full(r, path)
	}
	C.print(f, unsafe.Pointer(unsafe.StringData(text)), C.uint64_t(len(text)))
}

func say(f *C.struct_mrl_finish, text string) {
	line := append([]byte(text), 0)
	C.say(f, (*C.char)(unsafe.Pointer(&line[0])))
}

// store writes the run. A full disk is tried again for a moment: the record files of the other ranks hold their
// space until their processes have ended, which is about now.
func store(r *run.Run, directory files.Directory, text string) error {
	const patience, pause = time.Second, 20 * time.Millisecond
	for until := time.Now().Add(patience); ; time.Sleep(pause) {
		err := r.Write(directory, text)
		if !errors.Is(err, syscall.ENOSPC) || time.Now().After(until) {
			return err
		}
	}
}
