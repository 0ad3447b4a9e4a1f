package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"marple/test/mock/world"
)

// This file runs the processes of a job. Everything about the job changes under
// its one lock, so a call of one rank is handled and its replies are written
// before anything else happens. Once the job is stopping nothing is answered any
// more, and the exit code is that of the reason.

const (
	// rankFD is where a rank finds its socket: out of the way of programs that
	// count on low descriptors.
	rankFD       = 100
	deadlockCode = 86
	killDelay    = 2 * time.Second
)

type process struct {
	cmd        *exec.Cmd
	socket     int    // -1 once it is closed
	unread     []byte // what has come of frames that are not complete
	inited     bool
	finalizing bool
	finalized  bool
	exited     bool
}

type job struct {
	sockets  int // epoll's
	mu       sync.Mutex
	world    *world.World
	ranks    []*process
	code     int
	stopping bool
}

// run runs the job to its end and returns the exit code.
func run(p *plan) int {
	sockets, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mockrun: epoll:", err)
		return 1
	}
	j := &job{sockets: sockets, world: world.New(p.world)}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		s := <-signals
		j.mu.Lock()
		defer j.mu.Unlock()
		j.stop(128+int(s.(syscall.Signal)), -1, "got signal: %v", s)
	}()

	var exits sync.WaitGroup
	j.launch(p, &exits)
	go j.serve()
	exits.Wait()
	j.mu.Lock()
	return j.code
}

// launch starts the ranks, under the lock so that none is served before all are
// known.
func (j *job) launch(p *plan, exits *sync.WaitGroup) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for appnum, a := range p.apps {
		for range a.ranks {
			rank := len(j.ranks)
			r, err := start(p, appnum, rank)
			if err != nil {
				j.stop(127, -1, "%v", err)
				return
			}
			j.ranks = append(j.ranks, r)
			exits.Add(1)
			go func() {
				defer exits.Done()
				j.exited(rank, r.cmd.Wait())
			}()
			if err := syscall.EpollCtl(j.sockets, syscall.EPOLL_CTL_ADD, r.socket, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(rank)}); err != nil {
				j.stop(1, -1, "epoll: %v", err)
				return
			}
		}
	}
}

func start(p *plan, appnum, rank int) (*process, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "rank")
	defer theirs.Close()
	virtual, cpu := 0, 0
	if p.world.Virtual {
		virtual = 1
	}
	if p.cpu {
		cpu = 1
	}
	argv := p.apps[appnum].argv
	cmd := exec.Command(argv[0], argv[1:]...)
	// PMIX_RANK is for tools, which want to know the rank before MPI_Init.
	cmd.Env = append(os.Environ(), fmt.Sprintf("PMIX_RANK=%d", rank), fmt.Sprintf(
		"MOCKMPI=fd=%d rank=%d size=%d virtual=%d cpu=%d tick=%d hosts=%d appnum=%d skew=%d drift=%d",
		rankFD, rank, p.world.Ranks, virtual, cpu, p.world.Tick, p.hosts, appnum, p.skew, p.drift))
	if rank == 0 {
		cmd.Stdin = os.Stdin
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = make([]*os.File, rankFD-3+1)
	cmd.ExtraFiles[rankFD-3] = theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		syscall.Close(pair[0])
		return nil, err
	}
	return &process{cmd: cmd, socket: pair[0]}, nil
}

// serve handles the ranks' calls. It waits for them itself: Go's way to do so would wake it each time that a rank has read a
// reply, too, which halves what the server can do.
func (j *job) serve() {
	events, in := make([]syscall.EpollEvent, 64), make([]byte, 1<<16)
	for {
		n, err := syscall.EpollWait(j.sockets, events, -1)
		if err != nil && err != syscall.EINTR {
			fmt.Fprintln(os.Stderr, "mockrun: epoll:", err)
			os.Exit(1)
		}
		j.mu.Lock()
		for _, e := range events[:max(n, 0)] {
			j.read(int(e.Fd), in)
		}
		j.mu.Unlock()
	}
}

// read takes what has come from a rank, and makes the calls that are complete.
func (j *job) read(rank int, in []byte) {
	r := j.ranks[rank]
	if r.socket < 0 {
		return
	}
	n, _, err := syscall.Recvfrom(r.socket, in, syscall.MSG_DONTWAIT)
	if err == syscall.EAGAIN || err == syscall.EINTR {
		return
	}
	if err != nil || n == 0 {
		r.close()
		return
	}
	r.unread = append(r.unread, in[:n]...)
	for {
		var frame []byte
		if frame, r.unread = takeFrame(r.unread); frame == nil {
			return
		}
		c, err := decodeCall(frame)
		switch {
		case err != nil:
			j.stop(1, -1, "rank %d: %v", rank, err)
		case !j.stopping:
			j.call(rank, c)
		}
	}
}

func (r *process) close() {
	if r.socket >= 0 {
		syscall.Close(r.socket)
		r.socket = -1
	}
}

func (j *job) call(rank int, c *call) {
	if c.abort {
		j.stop(c.code&0xff, rank, "rank %d called MPI_Abort(%d)", rank, c.code)
		j.write(world.Reply{Rank: rank, ID: c.ID})
		return
	}
	switch c.Op.(type) {
	case *world.Init:
		j.ranks[rank].inited = true
	case *world.Finalize:
		j.ranks[rank].finalizing = true
	}
	j.handle(j.world.Submit(rank, c.Call))
	j.checkInit()
}

func (j *job) handle(replies []world.Reply, err error) {
	var deadlock *world.Deadlock
	switch {
	case errors.As(err, &deadlock):
		j.stop(deadlockCode, -1, "%v", err)
	case err != nil:
		j.stop(1, -1, "%v", err)
	}
	for _, r := range replies {
		j.ranks[r.Rank].finalized = j.ranks[r.Rank].finalizing
		j.write(r)
	}
}

// write ignores errors: if the rank is gone, its exit says why.
func (j *job) write(r world.Reply) {
	for b := encodeReply(r); len(b) > 0; {
		n, err := syscall.Write(j.ranks[r.Rank].socket, b)
		if err != nil && err != syscall.EINTR {
			return
		}
		b = b[max(n, 0):]
	}
}

// exited takes note of a rank's end, which is the end of the job unless the rank
// had finished with MPI or never used it.
func (j *job) exited(rank int, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.ranks[rank]
	r.exited = true
	r.close()
	if j.stopping {
		return
	}
	code, how := outcome(err)
	switch {
	case r.finalized || !r.inited && code == 0:
		if j.code == 0 {
			j.code = code
		}
		j.handle(j.world.Exit(rank))
		j.checkInit()
	case code == 0:
		j.stop(1, -1, "rank %d exited before MPI_Finalize", rank)
	default:
		j.stop(code, -1, "rank %d %s before MPI_Finalize", rank, how)
	}
}

// outcome is a process's exit code as a shell gives it, and its words for it.
func outcome(err error) (int, string) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, ""
	}
	status := exit.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal()), fmt.Sprintf("was killed by signal %d", status.Signal())
	}
	return status.ExitStatus(), fmt.Sprintf("exited with code %d", status.ExitStatus())
}

// checkInit ends a job that could wait for ever: some rank uses MPI and another
// has ended without.
func (j *job) checkInit() {
	inited, without := false, -1
	for i, r := range j.ranks {
		inited = inited || r.inited
		if r.exited && !r.inited {
			without = i
		}
	}
	if inited && without >= 0 {
		j.stop(1, -1, "rank %d exited without MPI_Init, which others called", without)
	}
}

// stop ends every process that has not exited, except the rank spared, which is
// about to exit by itself.
func (j *job) stop(code, spared int, format string, args ...any) {
	if j.stopping {
		return
	}
	j.stopping, j.code = true, code
	fmt.Fprintf(os.Stderr, "mockrun: "+format+"\n", args...)
	for i, r := range j.ranks {
		if i != spared {
			r.kill(syscall.SIGTERM)
		}
	}
	time.AfterFunc(killDelay, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		for _, r := range j.ranks {
			r.kill(syscall.SIGKILL)
		}
	})
}

// kill signals the process group, so that a rank started through a shell ends
// with it.
func (r *process) kill(s syscall.Signal) {
	if !r.exited {
		syscall.Kill(-r.cmd.Process.Pid, s)
	}
}
