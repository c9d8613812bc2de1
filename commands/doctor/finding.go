package doctor

// Severity is how much a finding matters.
type Severity uint8

// The severities: a Problem keeps failwise from doing its work, a Warning makes it
// slower, blinder or less safe.
const (
	Problem Severity = iota + 1
	Warning
)

func (s Severity) String() string {
	switch s {
	case Problem:
		return "problem"
	case Warning:
		return "warning"
	default:
		return "none"
	}
}

// Finding is one thing that is not as failwise needs it.
type Finding struct {
	Rule     string
	Severity Severity
	Node     string
	Text     string
	// Fix is what mends it, statements where there are any.
	Fix []string
}

// rule is one row of the diagnosis.
type rule struct {
	name     string
	severity Severity
	finds    func(Facts) []found
}

type found struct {
	text string
	fix  []string
}

func one(text string, fix ...string) []found { return []found{{text, fix}} }

// Examine judges one server by all rules, in their order.
func Examine(f Facts) []Finding {
	var list []Finding
	for _, r := range rules() {
		for _, each := range r.finds(f) {
			list = append(list, Finding{Rule: r.name, Severity: r.severity, Node: f.Node.Name, Text: each.text, Fix: each.fix})
		}
	}
	return list
}
