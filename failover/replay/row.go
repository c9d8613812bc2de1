package replay

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"failwise/failover"
	"failwise/rules"
)

// maxNodes bounds the nodes that a timeline can bring along.
const maxNodes = 1000

// row is one line of a timeline.
type row struct {
	line    int
	at      time.Duration
	node    string
	outcome rules.Outcome
	// fact is set for a line of a journal that is one, begin for the line that
	// begins a watcher's run.
	fact  *failover.Fact
	begin *begin
}

// rows reads a timeline.
type rows struct {
	*lines
	name string
	time timeReader
	last time.Duration

	// names and outcomes intern what repeats, as it is spelled.
	names    map[string]string
	outcomes map[string]knownOutcome
	// columns are the positions of time, node and outcome in CSV; nil for JSON
	// lines.
	columns []int
	width   int
	// plain: they are the first three, in this order.
	plain bool
	// text and textOutcome are the outcome read last.
	text        string
	textOutcome rules.Outcome
	// first is what the line that showed the format came to.
	first    row
	firstErr error
	hasFirst bool
}

// knownOutcome is an outcome with one of its spellings.
type knownOutcome struct {
	text    string
	outcome rules.Outcome
}

// compressions are what compressed files begin with, and what reads them.
var compressions = []struct{ magic, reader string }{
	{"\x1f\x8b", "zcat"},
	{"\x28\xb5\x2f\xfd", "zstdcat"},
	{"\xfd7zXZ", "xzcat"},
	{"BZh", "bzcat"},
}

// openRows looks at the first line: JSON, or the header of CSV.
func openRows(name string, r io.Reader) (*rows, error) {
	s := &rows{lines: newLines(r), name: name, names: map[string]string{}, outcomes: map[string]knownOutcome{}}
	for {
		first, err := s.lines.next()
		if errors.Is(err, io.EOF) {
			return nil, &FileError{File: name, Msg: "the timeline is empty"}
		}
		if err != nil {
			return nil, s.ended(err)
		}
		for _, c := range compressions {
			if bytes.HasPrefix(first, []byte(c.magic)) {
				return nil, s.bad(fmt.Errorf("the timeline is compressed: try %s %s | failwise replay -", c.reader, name))
			}
		}
		first = bytes.TrimSpace(bytes.TrimPrefix(first, []byte("\xef\xbb\xbf")))
		switch {
		case len(first) == 0:
			continue
		case first[0] == '{':
			s.first, s.firstErr = s.json(first)
			s.hasFirst = true
			return s, nil
		}
		return s, s.header(first)
	}
}

func (s *rows) header(line []byte) error {
	fields, err := splitQuoted(line)
	if err != nil {
		return s.bad(err)
	}
	s.width = len(fields)
	for i := range fields {
		fields[i] = string(bytes.ToLower(bytes.TrimSpace([]byte(fields[i]))))
	}
	for _, want := range []string{"time", "node", "outcome"} {
		i := slices.Index(fields, want)
		if i < 0 {
			return &FileError{File: s.name, Line: s.number,
				Msg: fmt.Sprintf("the header has no column %s; a timeline begins with the line time,node,outcome or is JSON lines", want)}
		}
		s.columns = append(s.columns, i)
	}
	s.plain = slices.Equal(s.columns, []int{0, 1, 2})
	return nil
}

// bad makes an error about the line in hand.
func (s *rows) bad(err error) *FileError {
	e := &FileError{File: s.name, Line: s.number, Msg: err.Error(), Err: err}
	var f *FileError
	if errors.As(err, &f) {
		e.Msg, e.Word, e.Known = f.Msg, f.Word, f.Known
	}
	return e
}

// broken is an error of reading, which ends the replay.
func (s *rows) broken(err error) error { return fmt.Errorf("read timeline %s: %w", s.name, err) }

// next returns the next row. A *FileError is about that row alone; the next call
// goes on. After the last one the error is io.EOF.
func (s *rows) next() (row, error) {
	if s.hasFirst {
		s.hasFirst = false
		switch {
		case s.firstErr != nil:
			return row{}, s.bad(s.firstErr)
		case s.first.line > 0:
			return s.first, nil
		}
	}
	for {
		line, err := s.lines.next()
		if err != nil {
			return row{}, s.ended(err)
		}
		if len(line) == 0 {
			continue
		}
		var w row
		if s.columns == nil {
			if w, err = s.json(line); err == nil && w.line == 0 {
				continue
			}
		} else {
			w, err = s.csv(line)
		}
		if err != nil {
			return row{}, s.bad(err)
		}
		return w, nil
	}
}

// ended words the error of a line that could not be had.
func (s *rows) ended(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.Is(err, errLongLine):
		return s.bad(err)
	}
	return s.broken(err)
}

// csv reads one row of CSV; a line without quotes is cut at its commas.
func (s *rows) csv(line []byte) (row, error) {
	if bytes.IndexByte(line, '"') >= 0 {
		return s.quoted(line)
	}
	if s.plain {
		if i := bytes.IndexByte(line, ','); i >= 0 {
			rest := line[i+1:]
			if j := bytes.IndexByte(rest, ','); j >= 0 {
				outcome := rest[j+1:]
				k := bytes.IndexByte(outcome, ',')
				if k < 0 {
					return s.fields(line[:i], rest[:j], outcome)
				}
				if s.width > 3 && bytes.Count(outcome, comma)+3 <= s.width {
					return s.fields(line[:i], rest[:j], outcome[:k])
				}
			}
		}
	}
	return s.cut(line)
}

var comma = []byte{','}

// cut reads a row without quotes whatever the order of its columns.
func (s *rows) cut(line []byte) (row, error) {
	var fields [3][]byte
	found, rest, n := 0, line, 0
	for ; ; n++ {
		i := bytes.IndexByte(rest, ',')
		field := rest
		if i >= 0 {
			field = rest[:i]
		}
		for j, c := range s.columns {
			if c == n {
				fields[j] = field
				found++
			}
		}
		if i < 0 {
			break
		}
		rest = rest[i+1:]
	}
	if n+1 > s.width || found < len(fields) {
		return row{}, fmt.Errorf("the row has %d fields, the header %d", n+1, s.width)
	}
	return s.fields(fields[0], fields[1], fields[2])
}

// quoted reads a row with quoted fields, which may go on over several lines.
func (s *rows) quoted(line []byte) (row, error) {
	if f, ok := s.unquote(line); ok {
		return s.fields(f[0], f[1], f[2])
	}
	text := slices.Clone(line)
	first := s.number
	for bytes.Count(text, []byte{'"'})%2 == 1 {
		more, err := s.lines.next()
		if err != nil || len(text) > maxLine {
			return row{}, fmt.Errorf("a quote that opens in line %d is never closed", first)
		}
		text = append(append(text, '\n'), more...)
	}
	fields, err := splitQuoted(text)
	if err != nil {
		return row{}, err
	}
	if len(fields) > s.width || len(fields) <= slices.Max(s.columns) {
		return row{}, fmt.Errorf("the row has %d fields, the header %d", len(fields), s.width)
	}
	c := s.columns
	return s.fields([]byte(fields[c[0]]), []byte(fields[c[1]]), []byte(fields[c[2]]))
}

// unquote cuts a row whose quoted fields have no quote inside and end on its line,
// which is what programs write that quote everything. It is many times as fast as
// the whole syntax.
func (s *rows) unquote(line []byte) (fields [3][]byte, ok bool) {
	found := 0
	for n := 0; n < s.width; n++ {
		var field []byte
		quote := len(line) > 0 && line[0] == '"'
		end := ','
		if quote {
			line, end = line[1:], '"'
		}
		i := bytes.IndexRune(line, end)
		switch {
		case i >= 0:
			field, line = line[:i], line[i+1:]
		case quote:
			return fields, false
		default:
			field, line = line, nil
		}
		last := i < 0
		if quote {
			if last = len(line) == 0; !last && line[0] != ',' {
				return fields, false
			}
			line = line[min(1, len(line)):]
		} else if bytes.IndexByte(field, '"') >= 0 {
			return fields, false
		}
		for j, c := range s.columns {
			if c == n {
				fields[j] = field
				found++
			}
		}
		if last {
			return fields, found == len(fields)
		}
	}
	return fields, false
}

func splitQuoted(line []byte) ([]string, error) {
	r := csv.NewReader(bytes.NewReader(line))
	r.FieldsPerRecord = -1
	fields, err := r.Read()
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return nil, parse.Err
	}
	return fields, err
}

// fields makes a row of its three fields.
func (s *rows) fields(at, node, outcome []byte) (row, error) {
	w := row{line: s.number}
	if string(outcome) != s.text {
		k, ok := s.outcomes[string(outcome)]
		if !ok {
			o, err := s.outcome(outcome)
			if err != nil {
				return row{}, err
			}
			k = knownOutcome{string(outcome), o}
			if len(s.outcomes) < maxNodes {
				s.outcomes[k.text] = k
			}
		}
		s.text, s.textOutcome = k.text, k.outcome
	}
	w.outcome = s.textOutcome
	var ok bool
	if w.node, ok = s.names[string(node)]; !ok {
		name, err := s.intern(node)
		if err != nil {
			return row{}, err
		}
		w.node = name
	}
	return w, s.when(&w, at)
}

// when gives the row its time, which never goes back.
func (s *rows) when(w *row, at []byte) error {
	t, err := s.time.read(at)
	if err != nil {
		if trimmed := bytes.TrimSpace(at); len(trimmed) < len(at) {
			t, err = s.time.read(trimmed)
		}
	}
	if err != nil {
		return err
	}
	if t < s.last {
		return fmt.Errorf("time %q is before that of the row above", at)
	}
	w.at, s.last = t, t
	return nil
}

func (s *rows) outcome(b []byte) (rules.Outcome, error) {
	o, err := rules.ParseOutcome(string(b[:min(len(b), 100)]))
	if err == nil && o == rules.NotOnline {
		err = fmt.Errorf("no probe ends in %s: it stands for every bad outcome in rules with a window", o)
	}
	return o, err
}

func (s *rows) intern(b []byte) (string, error) {
	name := string(bytes.TrimSpace(b))
	switch {
	case name == "":
		return "", errors.New("the row names no node")
	case len(name) > 300:
		return "", fmt.Errorf("node %q… is too long for a name", name[:40])
	}
	if known, ok := s.names[name]; ok {
		return known, nil
	}
	if err := nodeName(name); err != nil {
		return "", err
	}
	if len(s.names) >= maxNodes {
		return "", fmt.Errorf("node %q is one more than %d", name, maxNodes)
	}
	s.names[name] = name
	return name, nil
}

// nodeName refuses a name that a terminal would not show as it is.
func nodeName(name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("%q is no name for a node", name)
	}
	return nil
}

// jsonRow is a line of JSON lines, or of a journal.
type jsonRow struct {
	Time    string          `json:"time"`
	Kind    string          `json:"kind"`
	Node    string          `json:"node"`
	Outcome string          `json:"outcome"`
	Data    json.RawMessage `json:"data"`
}

// json reads one line of JSON. A line of a journal that is neither a probe nor a
// fact nor the begin of a run gives a row without a line number.
func (s *rows) json(line []byte) (row, error) {
	var j jsonRow
	if err := json.Unmarshal(line, &j); err != nil {
		return row{}, fmt.Errorf("not a JSON object of a timeline: %s", jsonFault(err))
	}
	switch j.Kind {
	case "", "probe":
		if j.Outcome == "" {
			return row{}, errors.New(`the row has no "outcome"`)
		}
		return s.fields([]byte(j.Time), []byte(j.Node), []byte(j.Outcome))
	case "fact", "start":
	default:
		return row{}, nil
	}
	w := row{line: s.number}
	if err := s.when(&w, []byte(j.Time)); err != nil {
		return row{}, err
	}
	if j.Kind == "start" {
		w.begin = &begin{}
		if err := json.Unmarshal(j.Data, w.begin); err != nil {
			return row{}, fmt.Errorf("the begin of a run cannot be read: %s", jsonFault(err))
		}
		return w, nil
	}
	var c failover.Call
	if err := json.Unmarshal(j.Data, &c); err != nil || c.Fact == nil {
		return row{}, errors.New("the fact cannot be read")
	}
	w.fact = c.Fact
	return w, nil
}

// jsonFault words an error of encoding/json without Go's types.
func jsonFault(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("%s at byte %d", syntax.Error(), syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Sprintf("%s cannot be a %s", kind.Field, kind.Value)
	}
	return err.Error()
}

// begin is what a journal says at the begin of a watcher's run.
type begin struct {
	Nodes         []failover.Node  `json:"nodes"`
	Profile       *rules.Profile   `json:"profile"`
	Policy        *failover.Policy `json:"policy"`
	Tick          *float64         `json:"tick"`
	ProbeInterval *float64         `json:"probe_interval"`
	ProbeBudget   *float64         `json:"probe_budget"`
	Settle        *int             `json:"settle"`
	Quota         *int             `json:"quota"`
	AgeLimit      *float64         `json:"age_limit"`
}

// timings puts what the journal tells on top of t, if the result is sound.
func (b *begin) timings(t rules.Timings) rules.Timings {
	next := t
	for _, d := range []struct {
		from *float64
		to   *time.Duration
	}{{b.Tick, &next.Tick}, {b.ProbeInterval, &next.ProbeInterval}, {b.ProbeBudget, &next.ProbeBudget}, {b.AgeLimit, &next.AgeLimit}} {
		if d.from != nil && *d.from >= 0 && *d.from < maxDuration.Seconds() {
			*d.to = time.Duration(*d.from * float64(time.Second))
		}
	}
	for _, n := range []struct{ from, to *int }{{b.Settle, &next.Settle}, {b.Quota, &next.Quota}} {
		if n.from != nil {
			*n.to = *n.from
		}
	}
	if next.Validate() != nil || next.Tick < shortestTick || max(next.ProbeInterval, next.ProbeBudget) > longestInterval {
		return t
	}
	return next
}
