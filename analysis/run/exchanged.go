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
	Policies        []string `json:"policies"` // fixed:NAME, model, trial or rules
	Calls           uint64   `json:"calls"`    // whose records are kept
	Time            float64  `json:"time"`     // that they took
	Implementations []Served `json:"implementations"`
	Spells          []Spell  `json:"spells"` // which implementation served most calls, one after the other
	// Crowded is how many calls had methods and sizes of which there is no room for more; they are not compared.
	Crowded uint64 `json:"crowded,omitempty"`
	// Rules are those by which it was managed; Firings are what they have done, the first ones of each rank, and Recorded is
	// how many records there are of all that the rules have fired.
	Rules    []ManagerRule `json:"rules,omitempty"`
	Firings  []Firing      `json:"firings,omitempty"`
	Recorded uint64        `json:"firings_recorded,omitempty"`
	// Changes is how many they may make at most on a rank, and Made how many the rank with most has recorded.
	Changes int `json:"changes,omitempty"`
	Made    int `json:"changes_made,omitempty"`
}

// Fired is how often its rules have fired, on all ranks together, whether there are records of it or not.
func (e *Exchanged) Fired() (n uint64) {
	for _, x := range e.Rules {
		n += x.Fired
	}
	return n
}

// ManagerRule is a rule by which a proxy has chosen implementations and their settings.
type ManagerRule struct {
	Name  string `json:"name"`
	When  string `json:"when"`  // its condition and its end
	Then  string `json:"then"`  // what it does
	At    string `json:"at"`    // file:line
	Fired uint64 `json:"fired"` // on all ranks together
}

// Firing is something that a rule has changed.
type Firing struct {
	At     float64  `json:"at"` // seconds after MPI_Init, on the first rank
	Rank   int      `json:"rank"`
	Ranks  int      `json:"ranks"` // on which it fired so
	Rule   string   `json:"rule"`
	Did    string   `json:"did"`
	Tuning string   `json:"tuning,omitempty"` // begins, measured, found, stopped (by the number of evaluations), inputs or times (are others, and it begins anew)
	Why    []Reason `json:"why"`
	// Change is the how manyeth of the manager's changes it is; Overruled how many rules of less priority were on and wanted
	// another implementation; Holding on how many ranks the condition held at the last look, where ranks agree.
	Change    int `json:"change"`
	Overruled int `json:"overruled,omitempty"`
	Holding   int `json:"holding,omitempty"`
}

// Reason is what a metric was that a rule looked at.
type Reason struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
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
	maxPolicies  = MaxExchanged + 3 // each implementation, model, trial and rules
	maxRules     = 64               // of a family
	// MaxFirings is how many are told of a family; Recorded and Fired count them all.
	MaxFirings = 1000
	// RulesComponent is whose invocation a firing is: its method is the rule, and its instance the family.
	RulesComponent = "rules"
)

const exchangedPrefix = "exchanged:"

// declaredFamily is what the proxy of a family has declared of it.
type declaredFamily struct {
	Policies        []string `yaml:"policies"`
	Implementations []string `yaml:"implementations"`
	Rules           []struct {
		Rule string `yaml:"rule"`
		When string `yaml:"when"`
		Then string `yaml:"then"`
		At   string `yaml:"at"`
	} `yaml:"rules"`
	Changes int `yaml:"changes"`
}

// exchanged takes what proxies of families have declared out of what the program has. The rest is for marple select.
func exchanged(declared []string) (families []Exchanged, rest []string, problem error) {
	for _, text := range declared {
		if !strings.HasPrefix(text, exchangedPrefix) {
			rest = append(rest, text)
			continue
		}
		var file struct {
			Exchanged map[string]declaredFamily `yaml:"exchanged"`
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
			if err := families[at].add(one); err != nil {
				problem = err
			}
		}
	}
	for i := range families { // declared one by one, and kept in the order of their texts
		slices.SortFunc(families[i].Rules, func(a, b ManagerRule) int { return strings.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(families, func(a, b Exchanged) int { return strings.Compare(a.Family, b.Family) })
	return families, rest, problem
}

// add adds what another proxy of the family has declared, as far as there is room.
func (e *Exchanged) add(one declaredFamily) error {
	full := func(most int, what string) error {
		return fmt.Errorf("family %s has more than %d %s", e.Family, most, what)
	}
	var problem error
	for _, policy := range one.Policies {
		if slices.Contains(e.Policies, policy) {
			continue
		}
		if len(e.Policies) == maxPolicies {
			problem = full(maxPolicies, "policies")
			break
		}
		e.Policies = append(e.Policies, policy)
	}
	for _, i := range one.Implementations {
		if slices.ContainsFunc(e.Implementations, func(s Served) bool { return s.Name == i }) {
			continue
		}
		if len(e.Implementations) == MaxExchanged {
			problem = full(MaxExchanged, "implementations")
			break
		}
		e.Implementations = append(e.Implementations, Served{Name: i})
	}
	e.Changes = max(e.Changes, one.Changes)
	for _, x := range one.Rules {
		if slices.ContainsFunc(e.Rules, func(r ManagerRule) bool { return r.Name == x.Rule }) {
			continue
		}
		if len(e.Rules) == maxRules {
			problem = full(maxRules, "rules")
			break
		}
		e.Rules = append(e.Rules, ManagerRule{Name: x.Rule, When: x.When, Then: x.Then, At: x.At})
	}
	return problem
}

// fired counts what rules have done by the call graph, which has it all.
func (r *Run) fired() {
	if len(r.Exchanged) == 0 {
		return
	}
	count := func(n *Node, _ int) bool {
		if n.Component != RulesComponent || n.Calls == nil {
			return true
		}
		for i := range r.Exchanged {
			for k := range r.Exchanged[i].Rules {
				if rule := &r.Exchanged[i].Rules[k]; r.Exchanged[i].Family == n.Instance && rule.Name == n.Method {
					rule.Fired += n.Calls.N
				}
			}
		}
		return true
	}
	for _, n := range r.CallGraph {
		n.Walk(count)
	}
}
