package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"marple/analysis/page"
	"marple/analysis/run"
	"marple/analysis/words"
)

func serveCommand() *cobra.Command {
	c := &cobra.Command{Use: "serve RUN...", Short: "Show runs in a browser, on this computer only", Annotations: endless,
		Long: `Shows a list of runs and, of each, the page that marple page writes, at an address that only this computer can
reach. A directory that is no run itself stands for the runs in it, also for those that come later. Ends when
interrupted.`}
	o := pageFlags(c)
	port := c.Flags().Int("port", 8137, "port on 127.0.0.1 (0: any that is free)")
	c.Args = func(_ *cobra.Command, arguments []string) error {
		if len(arguments) == 0 {
			return usage("serve: expected runs, or directories that hold runs")
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, arguments []string) error {
		if err := o.check(); err != nil {
			return err
		}
		for _, path := range arguments {
			if _, err := os.Stat(path); err != nil {
				return err
			}
		}
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(*port)))
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		server := &http.Server{Handler: local(handler(arguments, o)), ReadHeaderTimeout: 10 * time.Second}
		go func() {
			<-ctx.Done()
			_ = server.Shutdown(context.WithoutCancel(ctx))
		}()
		fmt.Fprintf(c.OutOrStdout(), "http://%s/\n", listener.Addr())
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
	return c
}

// local refuses requests that name another host: a page from elsewhere must not read runs by giving this address a
// name of its own.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if host != "127.0.0.1" && host != "localhost" {
			http.Error(w, "this address is 127.0.0.1", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// runsIn lists the runs that are there now, among what the arguments stand for.
func runsIn(arguments []string) []string {
	return slices.DeleteFunc(runPaths(arguments), func(path string) bool {
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			_, err = os.Stat(filepath.Join(path, run.File))
		}
		return err != nil
	})
}

func handler(arguments []string, o *pageOptions) http.Handler {
	mux := http.NewServeMux()
	send := func(w http.ResponseWriter, text []byte, err error) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(text)
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		items := []page.Item{}
		for i, path := range runsIn(arguments) {
			item := page.Item{Link: fmt.Sprintf("/run/%d/%s", i, filepath.Base(path)), Title: path}
			if r, err := run.Read(path); err != nil {
				item.Text = err.Error()
			} else {
				item.Text = fmt.Sprintf("%s, %d ranks, %s, parallel efficiency %s", r.Program, r.Ranks, words.Duration(float64(r.WallNs)/1e9), words.Percent(r.Efficiency.Parallel))
			}
			items = append(items, item)
		}
		var text bytes.Buffer
		err := page.List(&text, "Runs", items)
		send(w, text.Bytes(), err)
	})
	mux.HandleFunc("GET /run/{number}/{name}", func(w http.ResponseWriter, r *http.Request) {
		paths := runsIn(arguments)
		i, err := strconv.Atoi(r.PathValue("number"))
		if err != nil || i < 0 || i >= len(paths) || filepath.Base(paths[i]) != r.PathValue("name") {
			http.NotFound(w, r)
			return
		}
		p, err := o.load(paths[i])
		var text bytes.Buffer
		if err == nil {
			p.Back = "/"
			err = page.Write(&text, *p)
		}
		send(w, text.Bytes(), err)
	})
	return mux
}
