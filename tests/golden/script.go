package golden

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// separator stands between a directive and its output.
const separator = "----"

// Verb makes a machine do what a directive says.
type Verb func(*Directive)

// Directive is one directive of a script as its verb sees it. A verb takes what it
// understands; what is left over is a mistake in the script.
type Directive struct {
	options map[string]string
	args    []string
	input   []string
	out     []string
}

// mistake is the panic by which a verb refuses a directive.
type mistake string

// Fail refuses the directive: the script has a mistake that no output can put right.
func (d *Directive) Fail(format string, args ...any) { panic(mistake(fmt.Sprintf(format, args...))) }

// Say adds a line to the output.
func (d *Directive) Say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if line == "" || strings.Contains(line, "\n") || strings.TrimSpace(line) != line {
		d.Fail("the verb says %q, which is not a line of output", line)
	}
	d.out = append(d.out, line)
}

// SayAll adds lines to the output, each with something before it.
func (d *Directive) SayAll(before string, lines []string) {
	for _, line := range lines {
		d.Say("%s%s", before, line)
	}
}

// Option takes the value of an option, or its default.
func (d *Directive) Option(name, otherwise string) string {
	value, found := d.options[name]
	if !found {
		return otherwise
	}
	delete(d.options, name)
	return value
}

// Flag takes an option that is yes or no, and no if it is not there.
func (d *Directive) Flag(name string) bool {
	value := d.Option(name, "no")
	if value != "yes" && value != "no" {
		d.Fail("%s is %q, want yes or no", name, value)
	}
	return value == "yes"
}

// Number takes an option that is a whole number, or its default.
func (d *Directive) Number(name string, otherwise int) int {
	return d.atoi(d.Option(name, strconv.Itoa(otherwise)))
}

// Span takes an option that is a duration, or its default.
func (d *Directive) Span(name string, otherwise time.Duration) time.Duration {
	return d.duration(d.Option(name, otherwise.String()))
}

// Word takes the next word.
func (d *Directive) Word() string {
	if len(d.args) == 0 {
		d.Fail("a word is missing")
	}
	word := d.args[0]
	d.args = d.args[1:]
	return word
}

// Int takes the next word as a whole number.
func (d *Directive) Int() int { return d.atoi(d.Word()) }

// Duration takes the next word as a duration.
func (d *Directive) Duration() time.Duration { return d.duration(d.Word()) }

// Rest takes the words that are left.
func (d *Directive) Rest() []string {
	rest := d.args
	d.args = nil
	return rest
}

// Input takes the input lines, as bytes.
func (d *Directive) Input() (lines [][]byte) {
	for _, line := range d.input {
		b, err := Unescape(line)
		if err != nil {
			d.Fail("%v", err)
		}
		lines = append(lines, b)
	}
	d.input = nil
	return lines
}

func (d *Directive) atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		d.Fail("%q is no whole number", text)
	}
	return n
}

func (d *Directive) duration(text string) time.Duration {
	span, err := time.ParseDuration(text)
	if err != nil {
		d.Fail("%q is no duration, want one as 2ms", text)
	}
	return span
}

var optionForm = regexp.MustCompile(`^[a-z]+=`)

// parse reads the line of a directive.
func parse(line string) (verb string, d *Directive, err error) {
	list, err := words(line)
	if err != nil {
		return "", nil, err
	}
	d = &Directive{options: map[string]string{}, args: list[1:]}
	for len(d.args) > 0 && optionForm.MatchString(d.args[0]) {
		name, value, _ := strings.Cut(d.args[0], "=")
		d.options[name], d.args = value, d.args[1:]
	}
	return list[0], d, nil
}

// carryOut lets a verb do its work. A panic of the machine with a text, as assertions have,
// is output; any other is a fault of the machine or of its driver.
func (d *Directive) carryOut(verb Verb) (err error) {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case mistake:
			err = fmt.Errorf("%s", string(problem))
		case string:
			d.out = append(d.out, "panic: "+problem)
		default:
			err = fmt.Errorf("panic: %v\n%s", problem, debug.Stack())
		}
	}()
	verb(d)
	for name := range d.options {
		d.Fail("the verb has no option %s", name)
	}
	if len(d.args) > 0 || len(d.input) > 0 {
		d.Fail("the verb takes no %q", slices.Concat(d.args, d.input))
	}
	return nil
}

// Play carries out a script and returns it as it should read. problems are the directives
// with another output than the script says, each as "name:line: what is wrong". One that
// cannot be carried out ends the script: what follows would act on another machine than it
// was written for.
func Play(name, script string, verbs map[string]Verb) (rewritten string, problems []string) {
	lines := strings.Split(strings.TrimRight(script, " \n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	var out strings.Builder
	for i := 0; i < len(lines); {
		line := lines[i]
		if line == "" || line[0] == '#' {
			out.WriteString(line + "\n")
			i++
			continue
		}
		first := i
		for i < len(lines) && lines[i] != "" {
			i++
		}
		block := lines[first:i]
		asked, want, complete := block, []string(nil), false
		if at := slices.Index(block, separator); at >= 0 {
			asked, want, complete = block[:at], block[at+1:], true
		}
		got, err := direct(asked, verbs)
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("%s:%d: %s: %v", name, first+1, line, err))
			out.WriteString(strings.Join(lines[first:], "\n") + "\n")
			return out.String(), problems
		case !complete:
			problems = append(problems, fmt.Sprintf("%s:%d: %s\nhas no output yet", name, first+1, line))
		case !slices.Equal(got, want):
			problems = append(problems, fmt.Sprintf("%s:%d: %s\n%s\nwant\n%s", name, first+1, line, indent(got), indent(want)))
		}
		out.WriteString(strings.Join(slices.Concat(asked, []string{separator}, got), "\n") + "\n")
	}
	return out.String(), problems
}

// direct carries out one directive: its line, and its input lines behind.
func direct(asked []string, verbs map[string]Verb) (out []string, err error) {
	if len(asked) == 0 {
		return nil, fmt.Errorf("output without a directive")
	}
	name, d, err := parse(asked[0])
	if err != nil {
		return nil, err
	}
	verb := verbs[name]
	if verb == nil {
		return nil, fmt.Errorf("there is no verb %s", name)
	}
	d.input = asked[1:]
	err = d.carryOut(verb)
	return d.out, err
}

func indent(lines []string) string { return "\t" + strings.Join(lines, "\n\t") }
