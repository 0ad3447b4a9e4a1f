package proxygen

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScriptErrors(t *testing.T) {
	for _, test := range [][2]string{
		{"create Flux", "a.rc:1: expected: create CLASS INSTANCE"},
		{"# all\n\ncreate Flux f\ncreate Mesh f", "a.rc:4: there is an instance f already, of class Flux"},
		{"create Flux f\nconnect g flux f flux extra", "a.rc:2: expected: connect USER USESPORT PROVIDER PROVIDESPORT"},
		{"create Flux f\nconnect f mesh m mesh", "a.rc:2: no instance m has been created before"},
		{"go driver go", "a.rc:1: no instance driver has been created before"},
		{strings.Repeat("x", MaxScript+1), "a.rc: larger than 1048576 bytes"},
	} {
		_, err := ParseScript("a.rc", test[0])
		require.EqualError(t, err, test[1])
	}
}

// A proxy stands before each port that is used and has one; what else the script says stays what it was.
func TestInterposed(t *testing.T) {
	s, err := ParseScript("a.rc", `#!ccaffeine
path set lib # where they are
repository get-global Flux
create Flux f # a solver
create Flux g
create Log log
connect f out log log
connect f other g flux
disconnect f other g flux
parameters f parameters n 1
run f go
remove g
path set more
bye
`)
	require.NoError(t, err)
	class := func(component, port string) string {
		if port == "log" {
			return ""
		}
		return proxyClass(component, port)
	}
	require.Equal(t, `#!ccaffeine
path set lib # where they are
path append measured
repository get-global Flux
repository get-global Mastermind
create Mastermind mastermind
create Flux f # a solver
repository get-global FluxGoProxy
create FluxGoProxy f_go_proxy
connect f_go_proxy go_proxied f go
connect f_go_proxy MonitorPort mastermind MonitorPort
create Flux g
repository get-global FluxFluxProxy
create FluxFluxProxy g_flux_proxy
connect g_flux_proxy flux_proxied g flux
connect g_flux_proxy MonitorPort mastermind MonitorPort
create Log log
connect f out log log
connect f other g_flux_proxy flux
disconnect f other g_flux_proxy flux
parameters f parameters n 1
run f_go_proxy go
remove g_flux_proxy
remove g
path set more
path append measured
bye
`, s.interposed("measured", class))

	// A script that makes a Mastermind keeps it, wherever it is made.
	s, err = ParseScript("a.rc", "path set lib\ncreate Flux f\ncreate Mastermind mm\nconnect f perf mm PerfParamPort\ngo f go\n")
	require.NoError(t, err)
	require.Equal(t, `path set lib
path append measured
create Flux f
repository get-global FluxGoProxy
create FluxGoProxy f_go_proxy
connect f_go_proxy go_proxied f go
create Mastermind mm
connect f_go_proxy MonitorPort mm MonitorPort
connect f perf mm PerfParamPort
go f_go_proxy go
`, s.interposed("measured", class))
}

func FuzzScript(f *testing.F) {
	f.Add("path set lib\ncreate Flux f\nconnect f a f b\ngo f go\nremove f\n")
	f.Add("create Mastermind m\nconnect m a m b\n# x\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScript("a.rc", text)
		if err != nil {
			return
		}
		// What comes out is a script again, with all that was in it.
		out := s.interposed("measured", func(component, port string) string { return proxyClass(component, port) })
		for _, line := range s.lines {
			if w := words(line); len(w) > 0 && (w[0] == "create" || w[0] == "instantiate") {
				require.Contains(t, out, line)
			}
		}
	})
}
