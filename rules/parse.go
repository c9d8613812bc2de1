package rules

// Parse reads a statemap file and returns base with the file's rules on top. name
// is used in messages and origins.
//
// A file with a bad value is rejected as a whole: the map is nil and the error a
// [*RejectedError] that has every such problem. Whatever else is wrong (an unknown
// or incomplete outcome, a key given twice) is ignored with a warning.
func Parse(name string, src []byte, base *Map) (*Map, []Problem, error) {
	return Read(name, src).Apply(base)
}

// Apply returns base with the document's rules on top; see [Parse].
func (d *Document) Apply(base *Map) (*Map, []Problem, error) {
	var rejecting, warnings []Problem
	for _, p := range d.Problems {
		if p.Kind.Rejects() {
			rejecting = append(rejecting, p)
		} else {
			warnings = append(warnings, p)
		}
	}
	if len(rejecting) > 0 {
		return nil, warnings, &RejectedError{File: d.Name, Problems: rejecting}
	}
	m := *base
	for _, v := range d.Overrides {
		at := v.first().KeyAt
		m.replace(v.Outcome, v.Rule, Origin{Kind: FromFile, Name: d.Name, Line: at.Line, Column: at.Column})
	}
	return &m, warnings, nil
}
