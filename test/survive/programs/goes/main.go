//go:build mpi

// Command goes is a program in Go that calls MPI, so that there are two Go runtimes in the process: from several goroutines, one
// at a time, with the garbage collector at work.
package main

/*
#include <mpi.h>
#include <stdlib.h>

static int send(int tag)
{
    int in, out = tag;
    return MPI_Sendrecv(&out, 1, MPI_INT, 0, tag, &in, 1, MPI_INT, 0, tag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static int begin(void)
{
    int provided;
    return MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
)

func main() {
	runtime.LockOSThread()
	C.begin()
	var one sync.Mutex
	var all sync.WaitGroup
	for i := range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 500 {
				_ = make([]byte, 1<<16)
				one.Lock()
				C.send(C.int(i))
				one.Unlock()
			}
			runtime.GC()
		}()
	}
	all.Wait()
	fmt.Println("count MPI_Sendrecv", 8*500)
	C.MPI_Finalize()
}
