package machine

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Program is what measures. It lies beside marple.
const Program = "marple-machine"

// Take reads what Program has printed.
func (m *Machine) Take(from io.Reader) error {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		number := func(i int) (v float64) {
			if i < len(fields) {
				v, _ = strconv.ParseFloat(fields[i], 64) // what is none is no number above 0 either, which is checked
			}
			return v
		}
		text := func(i int) string {
			if i < len(fields) {
				return fields[i]
			}
			return ""
		}
		switch fields[0] {
		case "cores":
			m.Cores = int(number(1))
		case "clock":
			m.Clock = number(1)
		case "flops":
			m.Flops = number(1)
		case "level":
			l := Level{Name: text(1), Bytes: uint64(number(2)), Latency: number(3), Bandwidth: number(4)}
			if !(l.Latency > 0 && l.Bandwidth > 0) {
				m.NotMeasured = append(m.NotMeasured, Missing{l.Name, "there was no memory for it"})
				continue
			}
			m.Memory = append(m.Memory, l)
		case "messages":
			m.Messages = &Messages{Latency: number(1), Bandwidth: number(2), Ranks: int(number(3)), Between: text(4), Library: text(5)}
		case "not measured":
			m.NotMeasured = append(m.NotMeasured, Missing{text(1), text(2)})
		default:
			return fmt.Errorf("%s says %q, which is not known here", Program, lines.Text())
		}
	}
	return lines.Err()
}

// Processor is what this machine's first processor calls itself; empty if it does not say.
func Processor() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer file.Close()
	lines := bufio.NewScanner(io.LimitReader(file, 1<<16))
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
