package knowledge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"marple/analysis/words"
)

// Kind says what an expression stands for.
type Kind uint8

const (
	Number    Kind = iota // with a dimension
	Vector                // one number per rank, with a dimension
	Ranks                 // a set of ranks
	Text                  //
	Boolean               //
	Component             // a component, or a place
	Role                  //
	Class                 // of time: computation, communication, …
	Event                 // abstract
	Delayed               // a delay
	Fact                  // its name, in quotes
	Pattern               // of waiting, its name in quotes
	Any                   // an argument of any printable kind
)

var kindNames = [...]string{"a number", "a number per rank", "a set of ranks", "a text", "a condition", "a component",
	"a role", "a class of time", "an abstract event", "a delay", "a fact in quotes", "a pattern of waiting in quotes", "anything"}

func (k Kind) String() string { return kindNames[k] }

// Type of an expression.
type Type struct {
	Kind
	Dimension
}

func (t Type) String() string {
	if t.Kind == Number || t.Kind == Vector {
		return fmt.Sprintf("%s in %s", t.Kind, t.Dimension)
	}
	return t.Kind.String()
}

// Symptoms are the factors of general knowledge, which other models may judge.
var Symptoms = []string{"imbalance", "imbalance-elsewhere", "serial-io", "small-writes", "metadata-storm", "uneven-threads", "polling", "tiny-messages", "window-locks", "dominant-collective", "late-sender", "late-sender-wrong-order",
	"late-receiver", "late-progress", "early-reduce", "late-broadcast", "early-scan", "wait-at-barrier", "wait-at-nxn", "wait-at-fence",
	"wait-at-creation", "wait-at-finalize", "time-in-mpi"}

// Measurement is what a level of diagnosis needs to be known of a run.
type Measurement struct {
	Name  string
	About string // completes "needs …"
	How   string // how to get it, a sentence
	// Settings of marple exec with which another run gets it; none where it takes more than that.
	Settings map[string]string
}

// Measurements that levels may ask for.
var Measurements = []Measurement{
	{Name: "profile", About: "the time of every call path", How: "Run the program under marple exec."},
	{Name: "ranks", About: "each rank's share of every call path", How: "It is kept for up to 64 ranks: run on no more than that."},
	{Name: "peers", About: "who exchanged messages with whom", How: "Marple keeps up to 16,384 pairs of ranks: run on fewer ranks."},
	{Name: "components", About: "calls that belong to the components of the model", How: "Name the functions or regions that do it: write a file " +
		"`extends: MODEL` with a `match:` for them, and give it with --model."},
	{Name: "events", About: "the sequence of events", How: "Keep the ranks' logs: marple exec --keep-raw on --log 256.",
		Settings: map[string]string{"keep-raw": "on", "log": "256"}},
	{Name: "wait-states", About: "how long each call waited for another rank", How: "Give the ranks' logs room for all events: marple exec --log 256.",
		Settings: map[string]string{"log": "256"}},
}

// MeasurementOf finds a measurement by name.
func MeasurementOf(name string) (Measurement, bool) {
	for _, m := range Measurements {
		if m.Name == name {
			return m, true
		}
	}
	return Measurement{}, false
}

// function of the expression language. The last of Args may be repeated if Variadic; filters are roles, classes
// and events, which all must apply. What the functions compute stands in analysis/diagnosis.
type function struct {
	args     []Kind
	filters  bool // may follow
	more     bool // more arguments like the last may follow
	result   func(args []Type) (Type, error)
	needs    []string
	about    string
	optional int // arguments that may be left out, at the end
}

func gives(k Kind, d Dimension) func([]Type) (Type, error) {
	return func([]Type) (Type, error) { return Type{k, d}, nil }
}

var (
	seconds = Dimension{Seconds: 1}
	bytes   = Dimension{Bytes: 1}
	plain   = Dimension{}
)

// sameVector gives a number with the dimension of the only argument.
func sameVector(args []Type) (Type, error) { return Type{Number, args[0].Dimension}, nil }

// smallestOrLargest takes a vector, or numbers of one dimension.
func smallestOrLargest(args []Type) (Type, error) {
	if len(args) == 1 && args[0].Kind == Vector {
		return Type{Number, args[0].Dimension}, nil
	}
	for _, a := range args {
		if a.Kind != Number {
			return Type{}, fmt.Errorf("expected one number per rank, or several numbers")
		}
		if a.Dimension != args[0].Dimension {
			return Type{}, fmt.Errorf("compares %s with %s", args[0].Dimension, a.Dimension)
		}
	}
	if len(args) < 2 {
		return Type{}, fmt.Errorf("expected one number per rank, or several numbers")
	}
	return args[0], nil
}

// grain takes the work, the cost of messages and the depth of a pipeline.
func grain(args []Type) (Type, error) {
	for i, want := range []Dimension{seconds, seconds, plain, seconds}[:len(args)] {
		if args[i].Dimension != want {
			return Type{}, fmt.Errorf("expected %s, not %s", want, args[i].Dimension)
		}
	}
	return Type{Number, seconds}, nil
}

// functions of the expression language.
var functions = map[string]function{
	"time":         {args: []Kind{Component}, filters: true, result: gives(Number, seconds), needs: []string{"profile"}, about: "core time spent there, added up over ranks"},
	"times":        {args: []Kind{Component}, filters: true, result: gives(Vector, seconds), needs: []string{"profile", "ranks"}, about: "the same, per rank"},
	"slowest":      {args: []Kind{Component}, filters: true, result: gives(Number, seconds), needs: []string{"profile"}, about: "time of the rank that spent most there"},
	"own_time":     {args: []Kind{Component}, filters: true, result: gives(Number, seconds), needs: []string{"profile"}, about: "time of the calls there beside waiting for other ranks: from when the last of those has come"},
	"sure_time":    {args: []Kind{Component}, filters: true, result: gives(Number, seconds), needs: []string{"profile"}, about: "the same, with no call counted for more than three quarters of its rank's calls there take: longer ones may be so for want of a core"},
	"stalled":      {args: []Kind{Component}, filters: true, result: gives(Number, seconds), needs: []string{"profile"}, about: "time there during which ranks were blocked in the system"},
	"team_work":    {args: []Kind{Component}, filters: true, result: gives(Number, seconds), needs: []string{"profile"}, about: "time that a thread worked in parallel regions of OpenMP there, the mean over their threads"},
	"team_excess":  {args: []Kind{Component}, filters: true, result: gives(Number, seconds), needs: []string{"profile"}, about: "time that the thread which worked longest in a parallel region there did so beyond that mean"},
	"calls":        {args: []Kind{Component}, filters: true, result: gives(Number, plain), needs: []string{"profile"}, about: "calls of MPI functions, or passages, there"},
	"calls_each":   {args: []Kind{Component}, filters: true, result: gives(Vector, plain), needs: []string{"profile", "ranks"}, about: "the same, per rank"},
	"calls_below":  {args: []Kind{Component, Number}, filters: true, result: wantBytes(1, gives(Number, plain)), needs: []string{"profile"}, about: "calls there that carry fewer bytes than this"},
	"polled":       {args: []Kind{Component}, filters: true, result: gives(Number, seconds), needs: []string{"profile"}, about: "seconds from when ranks begin to test or probe until one of these calls finds something, where nothing else comes between that takes 10 µs; beside waiting for late ranks; where none does, what they take themselves"},
	"hits":         {args: []Kind{Component}, filters: true, result: gives(Number, plain), needs: []string{"profile"}, about: "tests and probes there that found something"},
	"bytes":        {args: []Kind{Component}, filters: true, result: gives(Number, bytes), needs: []string{"profile"}, about: "bytes sent and received there"},
	"shortest":     {args: []Kind{Component}, filters: true, result: gives(Number, seconds), needs: []string{"profile"}, about: "duration of the shortest call there: what it costs when nobody waits"},
	"longest":      {args: []Kind{Component}, filters: true, result: gives(Number, seconds), needs: []string{"profile"}, about: "duration of the longest call there"},
	"ranks_in":     {args: []Kind{Component}, filters: true, result: gives(Number, plain), needs: []string{"profile"}, about: "how many ranks come there"},
	"evenly":       {args: []Kind{Component}, filters: true, result: gives(Number, plain), needs: []string{"profile"}, about: "how often the rank that comes there least does so, in times of the one that does most; where not all ranks are listed, 1 if all come there and 0 if not"},
	"reaching":     {args: []Kind{Component, Number}, filters: true, result: wantSeconds(1, gives(Ranks, plain)), needs: []string{"profile"}, about: "the ranks that spend at least this long there; of more than 64, the eight slowest are looked at"},
	"name":         {args: []Kind{Component}, result: gives(Text, plain), about: "of the function or region at a place"},
	"worth":        {args: []Kind{Component}, result: gives(Number, seconds), about: "of a place with together: or each:, the sum of its expression at each of its call paths"},
	"places_in":    {args: []Kind{Component}, result: gives(Number, plain), about: "how many of a place's call paths, the heaviest first, make up nearly all of it"},
	"late_at":      {args: []Kind{Component}, more: true, result: gives(Ranks, plain), needs: []string{"profile"}, about: "the ranks that are nearer to the slowest one than to the mean at one of the call paths that make up nearly all of a place, or of several"},
	"listed":       {args: []Kind{Component}, more: true, result: gives(Text, plain), needs: []string{"profile"}, about: "the call paths of a place, or of several, the heaviest first, each with its share, and with the ranks that are slow there if those differ; as far as they make up nearly all of it"},
	"size":         {args: []Kind{Role}, result: gives(Number, plain), needs: []string{"peers"}, about: "how many ranks have this role"},
	"members":      {args: []Kind{Role}, result: gives(Ranks, plain), needs: []string{"peers"}, about: "the ranks that have this role"},
	"useful":       {args: []Kind{Role}, optional: 1, result: gives(Vector, seconds), needs: []string{"profile"}, about: "time outside MPI, per rank"},
	"in_mpi":       {args: []Kind{Role}, optional: 1, result: gives(Vector, seconds), needs: []string{"profile"}, about: "time in MPI, per rank"},
	"sent":         {args: []Kind{Role}, optional: 1, result: gives(Vector, plain), needs: []string{"profile"}, about: "messages sent point to point, per rank"},
	"received":     {args: []Kind{Role}, optional: 1, result: gives(Vector, plain), needs: []string{"profile"}, about: "messages received point to point, per rank"},
	"sent_bytes":   {args: []Kind{Role}, optional: 1, result: gives(Vector, bytes), needs: []string{"profile"}, about: "bytes sent point to point, per rank"},
	"traffic":      {args: []Kind{Ranks}, result: gives(Number, bytes), needs: []string{"profile"}, about: "bytes that these ranks moved by read, write and their like: files, pipes and sockets"},
	"file_bytes":   {args: []Kind{Ranks}, result: gives(Number, bytes), needs: []string{"profile"}, about: "bytes that these ranks read from files and wrote to them through the C library; 0 where files are not counted"},
	"busiest_file": {args: nil, result: gives(Text, plain), needs: []string{"profile"}, about: "the file that most time was spent on"},
	"passed":       {args: []Kind{Role, Role}, result: gives(Number, plain), needs: []string{"peers"}, about: "messages from ranks of the first role to ranks of the second"},
	"position":     {args: []Kind{Role}, optional: 1, result: gives(Vector, plain), needs: []string{"peers"}, about: "place of each rank in the order in which messages flow, from 0"},
	"link":         {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "messages between the two ranks that exchange most, both ways"},
	"returned":     {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "share of the messages that go where as many come from"},
	"turns":        {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "how often messages go the other way than those before between the same two ranks, beside exchanges without computing in between, for those where they do most often; 0 if their order is not known"},
	"onward":       {args: []Kind{Number}, result: gives(Number, plain), needs: []string{"peers"}, about: "of what ranks compute before messages, the share before those that go the way of the last one between the same two ranks; the number given if their order is not known"},
	"mutual":       {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "share of the pairs of ranks with messages that send them in both directions"},
	"star":         {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "share of the messages that come from or go to the busiest rank; 0 for two ranks"},
	"star_points":  {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "with how much of the other ranks that have messages the busiest rank exchanges any"},
	"active":       {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "share of the ranks that send or receive messages"},
	"fewest":       {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "with how many others a rank exchanges messages, of those that do the one that has fewest"},
	"grades":       {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "by how much a rank's messages to one partner are larger than those to another one, where messages between two ranks are about as large both ways, as between faces, edges and corners; 1 where they are not"},
	"in_pairs":     {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "of the times between two pieces of computing in which a rank exchanges messages, the share in which it does so both ways with one other rank only; of the ranks with several partners the one for which that is least; 0 if a rank computes nearly all before exchanges with one and the same partner, or the order of messages is not known"},
	"cube":         {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "1 if every rank exchanges messages with as many others as the corners of a hypercube with a rank at each have neighbours, which a butterfly has, and boxes two or four to a side that go round; 0 if not, and for two ranks"},
	"butterfly":    {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "share of the messages that ranks exchange with those whose numbers differ from theirs in one bit, half as many and half as large one way at least as the other, times the share of such pairs that have any; of ranks that are no power of two, some are folded onto others first, as is usual; 0 for fewer than four ranks"},
	"dimensions":   {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "stages of a butterfly of so many ranks: their number's logarithm to the base of 2, rounded down"},
	"folded":       {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "how many ranks there are beyond a power of two, which a butterfly folds onto others"},
	"degree":       {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "with how many others a rank exchanges messages, on average of those that do"},
	"even":         {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "share of the pairs of ranks that exchange about as many messages as the median pair"},
	"chained":      {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "share of the messages that flow from the only rank that sends on to the only one that gets them"},
	"tree_levels":  {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "levels of the tree that messages form; 0 if they form none"},
	"branches":     {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "share of the ranks that exchange messages with more than two, in the tree that messages form; 0 if they form none"},
	"seen":         {args: []Kind{Component}, result: gives(Number, plain), needs: []string{"profile"}, about: "1 if some call path belongs to the component, else 0"},
	"wait_cost":    {args: []Kind{Pattern}, result: gives(Number, seconds), needs: []string{"profile"}, about: "time that ranks are known to wait for each other in this way, for reasons that lie in the program"},
	"wait_time":    {args: []Kind{Pattern, Component}, optional: 1, result: gives(Number, seconds), needs: []string{"wait-states"}, about: "time that ranks wait in this way, there or anywhere"},
	"wait_caused":  {args: []Kind{Pattern, Component}, result: gives(Number, seconds), needs: []string{"profile"}, about: "time that ranks are known to wait in this way because others compute longer there"},
	"blamed":       {args: []Kind{Component}, result: gives(Number, seconds), needs: []string{"profile"}, about: "time that ranks may have waited because others compute longer there: what is known of it, and waiting whose reason is not known"},
	"chance":       {args: []Kind{Ranks}, result: gives(Number, seconds), needs: []string{"profile"}, about: "time that others may have waited for these ranks by chance: two standard errors of how much longer they compute, over parts of the run, and no more than ranks were without a core"},
	"unknown_wait": {args: nil, result: gives(Number, seconds), needs: []string{"profile"}, about: "time for which ranks may have waited without the replay of the logs knowing"},
	"wait_calls":   {args: []Kind{Pattern}, result: gives(Number, plain), needs: []string{"wait-states"}, about: "calls that waited in this way"},
	"wait_ranks":   {args: []Kind{Pattern}, result: gives(Ranks, plain), needs: []string{"wait-states"}, about: "ranks that wait longest, where most is waited in this way"},
	"late_ranks":   {args: []Kind{Pattern}, result: gives(Ranks, plain), needs: []string{"wait-states"}, about: "ranks that they wait for"},
	"latecomers":   {args: []Kind{Pattern}, result: gives(Text, plain), needs: []string{"wait-states"}, about: "the same in words: that they come late, or that ranks wait for each other"},
	"in_turn":      {args: []Kind{Pattern}, result: gives(Text, plain), needs: []string{"wait-states"}, about: "a sentence for advice if now one rank is late, now another; else nothing"},
	"late_call":    {args: []Kind{Pattern}, result: gives(Text, plain), needs: []string{"wait-states"}, about: "the call that they wait for, where most is waited in this way"},
	"delay_time":   {args: []Kind{Pattern}, result: gives(Number, seconds), needs: []string{"wait-states"}, about: "waiting of this kind that the most expensive delay causes"},
	"delay_passed": {args: []Kind{Pattern}, result: gives(Number, seconds), needs: []string{"wait-states"}, about: "what of it is passed on through other ranks"},
	"delay_ranks":  {args: []Kind{Pattern}, result: gives(Ranks, plain), needs: []string{"wait-states"}, about: "ranks that delay is on"},
	"delay_place":  {args: []Kind{Pattern}, result: gives(Text, plain), needs: []string{"wait-states"}, about: "where that delay is"},
	"beyond":       {args: []Kind{Number, Number}, more: true, result: smallestOrLargest, about: "sum of those that are at least the first"},
	"ramp":         {args: []Kind{Number, Number, Number}, result: ramp, about: "0 up to the second, 1 from the third, in between in proportion"},
	"front_time":   {args: []Kind{Number, Number, Number, Number}, result: grain, about: "time that a front takes through as many ranks as the third says, each of which has the work of the first, in blocks of the fourth, whose messages take the second: (work / block + ranks - 1) * (block + messages)"},
	"best_block":   {args: []Kind{Number, Number, Number}, result: grain, about: "the block for which that is least: the root of work * messages / (ranks - 1)"},
	"depth":        {args: nil, result: gives(Number, plain), needs: []string{"peers"}, about: "ranks on the longest way that messages flow without returning"},
	"instances":    {args: []Kind{Event}, result: gives(Number, plain), needs: []string{"events"}, about: "occurrences of an abstract event, on all ranks"},
	"duration":     {args: []Kind{Event}, result: gives(Number, seconds), needs: []string{"events"}, about: "time from the beginning to the end of occurrences, added up"},
	"fitting":      {args: []Kind{Event}, result: gives(Number, plain), needs: []string{"events"}, about: "share of its components' events that are part of an occurrence"},
	"head":         {args: []Kind{Event}, result: gives(Vector, seconds), needs: []string{"events"}, about: "time before the first occurrence, per rank"},
	"tail":         {args: []Kind{Event}, result: gives(Vector, seconds), needs: []string{"events"}, about: "time after the last occurrence, per rank"},
	"delayed":      {args: []Kind{Delayed}, result: gives(Number, seconds), needs: []string{"profile", "ranks"}, about: "time that ranks wait because of a delay, wherever it shows"},
	"attributed":   {args: []Kind{Component, Component}, more: true, result: gives(Number, seconds), needs: []string{"profile", "ranks"}, about: "time that ranks wait in the first component because of what others do in the rest"},
	"sum":          {args: []Kind{Vector}, result: sameVector, about: "of all ranks"},
	"mean":         {args: []Kind{Vector}, result: sameVector, about: "of all ranks"},
	"others":       {args: []Kind{Vector}, result: sameVector, about: "mean of all ranks but the one with the largest value"},
	"deviation":    {args: []Kind{Vector}, result: sameVector, about: "standard deviation over ranks"},
	"max":          {args: []Kind{Any}, filters: true, result: smallestOrLargest, about: "of all ranks, or of several numbers"},
	"min":          {args: []Kind{Any}, filters: true, result: smallestOrLargest, about: "of all ranks, or of several numbers"},
	"above":        {args: []Kind{Vector, Number}, result: sameDimensions(Type{Kind: Ranks}), about: "the ranks with at least this value"},
	"ratio":        {args: []Kind{Vector, Vector}, result: quotient, about: "rank by rank; ranks where nothing can be divided are left out"},
	"correlation":  {args: []Kind{Vector, Vector}, result: gives(Number, plain), about: "of two values over ranks, from -1 to 1"},
	"lost":         {args: []Kind{Fact}, result: gives(Number, seconds), about: "what a fact costs if it holds, else 0"},
	"holds":        {args: []Kind{Fact}, result: gives(Number, plain), about: "1 if a fact holds, else 0"},
	"plural":       {args: []Kind{Any, Text, Text}, result: gives(Text, plain), about: "the second if the first is one, else the third"},
}

func ramp(args []Type) (Type, error) {
	if args[0].Dimension != args[1].Dimension || args[0].Dimension != args[2].Dimension {
		return Type{}, fmt.Errorf("compares %s, %s and %s", args[0].Dimension, args[1].Dimension, args[2].Dimension)
	}
	return Type{Kind: Number}, nil
}

func wantBytes(at int, then func([]Type) (Type, error)) func([]Type) (Type, error) {
	return func(args []Type) (Type, error) {
		if args[at].Dimension != bytes {
			return Type{}, fmt.Errorf("expected bytes, not %s", args[at].Dimension)
		}
		return then(args)
	}
}

func wantSeconds(at int, then func([]Type) (Type, error)) func([]Type) (Type, error) {
	return func(args []Type) (Type, error) {
		if args[at].Dimension != seconds {
			return Type{}, fmt.Errorf("expected seconds, not %s", args[at].Dimension)
		}
		return then(args)
	}
}

func sameDimensions(result Type) func([]Type) (Type, error) {
	return func(args []Type) (Type, error) {
		if args[0].Dimension != args[1].Dimension {
			return Type{}, fmt.Errorf("compares %s with %s", args[0].Dimension, args[1].Dimension)
		}
		return result, nil
	}
}

func quotient(args []Type) (Type, error) {
	return Type{Vector, args[0].Dimension.over(args[1].Dimension)}, nil
}

// NeedsRun tells whether a function of the language looks at a run.
func NeedsRun(name string) bool { return len(functions[name].needs) > 0 }

// Functions are the names of the functions of the language.
func Functions() []string { return slices.Sorted(maps.Keys(functions)) }

// Remedies are what may be different in a replay; see waitstate.What.
var Remedies = []string{"balance", "free", "nonblocking", "prompt", "remove"}

// Patterns of waiting; see analysis/waitstate.
var Patterns = []string{"late-sender", "late-sender-wrong-order", "late-receiver", "late-progress", "early-reduce", "late-broadcast", "early-scan",
	"wait-at-barrier", "wait-at-nxn", "wait-at-fence", "wait-at-creation", "wait-at-finalize"}

// Totals are the names of what is known of a run as a whole.
func Totals() []string { return slices.Sorted(maps.Keys(totals)) }

// totals are what is known of the run as a whole, written run.NAME. span is the core time of a rank: what is left of
// the wall time without waiting for a core, and in a model that runs interleaved with others, without working for
// those. in_mpi is mpi with such waiting: others may be waited for meanwhile; and so in polled, which is from when ranks begin
// to test or probe until they find something, in MPI and between its calls. as_with_cores is 1 where cores were short,
// and all times are those of a replay with a core for each rank; otherwise 0. traffic is as the function of that name has it, of all ranks. file_bytes
// are written to files, by file_writes calls, small_writes of which carry less than 4 KiB; lookups open, close, ask for or change
// files. waits is 1 where it is known who waited for whom, else 0; outside is 1 where messages went to or came from processes outside
// MPI_COMM_WORLD, for which it is not known.
var totals = map[string]Dimension{
	"core": seconds, "wall": seconds, "span": seconds, "useful": seconds, "mpi": seconds, "in_mpi": seconds, "polled": seconds, "missed": seconds, "ranks": plain, "hosts": plain,
	"load_balance": plain, "core_availability": plain, "as_with_cores": plain, "messages": plain,
	"waits": plain, "outside": plain, "traffic": bytes,
	"file_bytes": bytes, "file_writes": plain, "small_writes": plain, "lookups": plain,
}

// Classes of time, which select a part of a component.
var Classes = []string{"computation", "communication", "collective", "point_to_point"}

// StructuralRoles are sets of ranks that follow from who sends messages to whom.
var StructuralRoles = map[string]string{
	"hub":    "the rank that nearly all messages come from or go to",
	"spoke":  "the ranks that exchange messages with the hub",
	"first":  "ranks that only pass messages on: nothing comes to them that does not return",
	"inner":  "ranks that get messages from some and pass them to others",
	"last":   "ranks that only get messages",
	"root":   "the rank that a tree of messages begins at",
	"branch": "ranks of the tree with others below, but for the root",
	"leaf":   "ranks of the tree with none below",
	"all":    "every rank",
}

// reserved names cannot be given to anything else.
func reserved(name string) bool {
	_, isFunction := functions[name]
	return isFunction || name == "run" || name == "here" || name == "all" || name == "value" || slices.Contains(Classes, name) ||
		slices.Contains([]string{"not", "and", "or", "in", "is", "if", "else", "true", "false", "nil", "let"}, name)
}

// unknown words the complaint about a name.
func unknown(what, name string, known []string) string {
	if near := words.Closest(name, known); near != "" {
		return fmt.Sprintf("unknown %s %q; did you mean %q?", what, name, near)
	}
	slices.Sort(known)
	if len(known) > 12 {
		known = append(known[:12:12], "…")
	}
	if len(known) == 0 {
		return fmt.Sprintf("unknown %s %q; there are none", what, name)
	}
	return fmt.Sprintf("unknown %s %q; expected one of %s", what, name, strings.Join(known, ", "))
}
