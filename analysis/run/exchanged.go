package run

import (
	"fmt"
	"slices"
	"strings"

	bounded "marple/analysis/yaml"
)

// Exchanged is a family whose implementations a proxy of marple proxygen --family has exchanged while the program ran.
// Times are seconds with a core, added up over ranks and threads.
type Exchanged struct {
	Family          string   `json:"family"`
	Policies        []string `json:"policies"` // fixed:NAME, model or trial
	Calls           uint64   `json:"calls"`    // whose records are kept
	Time            float64  `json:"time"`     // that they took
	Implementations []Served `json:"implementations"`
	Spells          []Spell  `json:"spells"` // which implementation served most calls, one after the other
	// Crowded is how many calls had methods and sizes of which there is no room for more; they are not compared.
	Crowded uint64 `json:"crowded,omitempty"`
}

// Served is what one implementation did of the family's calls, and what these would have taken by it, as far as it has
// served the same method and size on the same thread before and after, within a fifth of the run. Sizes are alike
// that agree in sign and power of two of their parameters; under the policy model, in their values.
type Served struct {
	Name     string  `json:"name"`
	Calls    uint64  `json:"calls"`
	Time     float64 `json:"time"`
	Compared uint64  `json:"compared"`         // calls that it can be compared for, its own among them
	Took     float64 `json:"compared_time"`    // what those took, by whoever served them
	Always   float64 `json:"always"`           // what they would have taken by it
	Error    float64 `json:"always_deviation"` // standard error of that, as if ranks' errors had one cause
}

// Spell is a part of the run, up to `until` seconds after MPI_Init.
type Spell struct {
	Until          float64 `json:"until"`
	Implementation string  `json:"implementation"`
	Share          float64 `json:"share"` // of the calls in it
}

// Bounds of what is told of exchanged families.
const (
	MaxExchanged = 16               // families, and implementations of each
	maxPolicies  = MaxExchanged + 2 // each implementation, model and trial
)

const exchangedPrefix = "exchanged:"

// exchanged takes what proxies of families have declared out of what the program has. The rest is for marple select.
func exchanged(declared []string) (families []Exchanged, rest []string, problem error) {
	for _, text := range declared {
		if !strings.HasPrefix(text, exchangedPrefix) {
			rest = append(rest, text)
			continue
		}
		var file struct {
			Exchanged map[string]struct {
				Policies        []string `yaml:"policies"`
				Implementations []string `yaml:"implementations"`
			} `yaml:"exchanged"`
		}
		if err := bounded.Unmarshal([]byte(text), &file); err != nil {
			problem = fmt.Errorf("%.60q…: %w", text, err)
			continue
		}
		for name, one := range file.Exchanged {
			at := slices.IndexFunc(families, func(e Exchanged) bool { return e.Family == name })
			if at < 0 {
				if len(families) == MaxExchanged {
					problem = fmt.Errorf("more than %d families", MaxExchanged)
					continue
				}
				at = len(families)
				families = append(families, Exchanged{Family: name, Policies: []string{}, Implementations: []Served{}, Spells: []Spell{}})
			}
			e := &families[at]
			for _, policy := range one.Policies {
				if slices.Contains(e.Policies, policy) {
					continue
				}
				if len(e.Policies) == maxPolicies {
					problem = fmt.Errorf("family %s has more than %d policies", name, maxPolicies)
					break
				}
				e.Policies = append(e.Policies, policy)
			}
			for _, i := range one.Implementations {
				if slices.ContainsFunc(e.Implementations, func(s Served) bool { return s.Name == i }) {
					continue
				}
				if len(e.Implementations) == MaxExchanged {
					problem = fmt.Errorf("family %s has more than %d implementations", name, MaxExchanged)
					break
				}
				e.Implementations = append(e.Implementations, Served{Name: i})
			}
		}
	}
	slices.SortFunc(families, func(a, b Exchanged) int { return strings.Compare(a.Family, b.Family) })
	return families, rest, problem
}
