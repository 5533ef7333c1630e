package conf

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Parse reads the arguments of `mithril [conf-file] [--key value]...`, program
// name excluded, and the conf file they name, whose text read returns. cpus is
// the default number of workers. The command line wins over the file: for a
// repeatable key its lines replace all of the file's.
//
// The error is an Errors with every fault found; there is no Config then. With
// ActionVersion or ActionHelp nothing else is looked at.
func Parse(args []string, cpus int, read func(path string) ([]byte, error)) (*Config, error) {
	cmd, err := splitArgs(args)
	if err != nil {
		return nil, err
	}
	if cmd.action >= ActionVersion {
		return &Config{Action: cmd.action}, nil
	}
	p := parser{config: Default(cpus), defaults: Default(cpus), read: read, settings: make(map[*key]*setting)}
	p.config.Action = cmd.action
	p.config.ConfFile = cmd.confFile
	p.place = commandLine
	if cmd.confFile != "" {
		p.file(cmd.confFile)
		p.place = quoteWord(cmd.confFile)
	}
	p.fromArgs = true
	for _, words := range cmd.lines {
		p.line(commandLine, "--", words)
	}
	switch {
	case len(p.faults) >= faultsMax:
		p.fault(p.place, "", "", "too many faults; the files were not read to their ends")
	case !p.incomplete:
		p.finish()
	}
	if len(p.faults) > 0 {
		return nil, p.faults
	}
	return p.config, nil
}

// Default returns the configuration without a file and arguments; it is
// complete but for the key that the topology mode requires. cpus is the number
// of CPUs the process may use.
func Default(cpus int) *Config {
	c := &Config{}
	for i := range keys {
		k := &keys[i]
		words, _ := splitWords(k.def)
		if k.def == defCPUs {
			words = []string{fmt.Sprint(min(max(cpus, 1), workersMax))}
		}
		if reason := k.kind.set(c, words); reason != "" {
			panic("conf: default of " + k.name + ": " + reason)
		}
	}
	return c
}

const commandLine = "command line"

// arguments is the command line taken apart.
type arguments struct {
	action   Action
	confFile string
	lines    [][]string // key without its dashes, then the words of its value
}

var actions = map[string]Action{"--check": ActionCheck, "--version": ActionVersion, "--help": ActionHelp}

// splitArgs cuts args at those that start with two dashes. Every argument is
// one word as it is. The conf file stands first or behind an action.
func splitArgs(args []string) (arguments, error) {
	var cmd arguments
	faults := Errors{}
	for i := 0; i < len(args); {
		arg := args[i]
		i++
		if !strings.HasPrefix(arg, "--") {
			if cmd.confFile != "" || len(cmd.lines) > 0 || strings.HasPrefix(arg, "-") || arg == "" {
				faults = append(faults, Error{Where: commandLine, Key: quoteWord(arg),
					Reason: "expected [conf-file] [--key value]..., --check, --version or --help"})
				continue
			}
			cmd.confFile = arg
			continue
		}
		if action, isAction := actions[arg]; isAction {
			cmd.action = max(cmd.action, action)
			continue
		}
		words := []string{arg[len("--"):]}
		for ; i < len(args) && !strings.HasPrefix(args[i], "--"); i++ {
			words = append(words, args[i])
		}
		cmd.lines = append(cmd.lines, words)
	}
	if len(faults) > 0 && cmd.action < ActionVersion {
		return cmd, faults
	}
	return cmd, nil
}

// setting is what the lines so far said about one key.
type setting struct {
	where    string // place of the last line
	words    []string
	fromArgs bool
	bad      bool // a fault was reported: no further checks
}

type parser struct {
	config     *Config
	defaults   *Config
	read       func(string) ([]byte, error)
	place      string // where a missing key is reported
	fromArgs   bool   // the lines come from the command line
	settings   map[*key]*setting
	open       []string // files being read, outermost first
	files      int      // files read
	incomplete bool     // a file could not be read: what is missing may stand there
	faults     Errors
}

func (p *parser) fault(where, key, value, reason string) {
	p.faults = append(p.faults, Error{Where: where, Key: key, Value: value, Reason: reason})
}

const (
	filesMax  = 64  // files read by way of include, the conf file included
	faultsMax = 100 // faults after which files are not read on: it is probably another kind of file
)

// load reads one file and answers why it cannot.
func (p *parser) load(name string) (data []byte, reason string) {
	data, err := p.read(name)
	if err == nil {
		return data, ""
	}
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return nil, "cannot be read: " + err.Error()
}

func (p *parser) file(name string) {
	data, reason := p.load(name)
	if reason != "" {
		p.incomplete = true
		p.fault(quoteWord(name), "", "", reason)
		return
	}
	p.lines(name, string(data))
}

// lines reads the text of one file.
func (p *parser) lines(name, text string) {
	p.files++
	p.open = append(p.open, path.Clean(name))
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		if len(p.faults) >= faultsMax {
			break
		}
		line = strings.Trim(line, blanks)
		if line == "" || line[0] == '#' {
			continue
		}
		where := fmt.Sprintf("%s:%d", quoteWord(name), number)
		words, ok := splitWords(line)
		switch {
		case !ok:
			p.unbalanced(where, words)
		case len(words) > 0:
			p.line(where, "", words)
		}
	}
	p.open = p.open[:len(p.open)-1]
}

func (p *parser) unbalanced(where string, words []string) {
	name := ""
	if len(words) > 0 {
		name = quoteWord(words[0])
		if k := lookup(words[0]); k != nil {
			p.setting(k, where, nil).bad = true
		}
	}
	p.fault(where, name, "", "unbalanced quotes; expected every quote closed and then a blank or the end of the line")
}

// line applies the words of one line; dashes is what stands before the key.
func (p *parser) line(where, dashes string, words []string) {
	name, values := words[0], words[1:]
	written := dashes + quoteWord(name)
	if strings.EqualFold(name, "include") {
		p.include(where, written, values)
		return
	}
	k := lookup(name)
	if k == nil {
		shown, reason := unknownKey(name)
		p.fault(where, dashes+shown, "", reason)
		return
	}
	s := p.settings[k]
	adds := k.repeat && s != nil && s.fromArgs == p.fromArgs
	s = p.setting(k, where, values)
	if len(values) == 0 {
		s.bad = true
		p.fault(where, written, "", "no value; "+expected(k.kind))
		return
	}
	if !adds {
		k.kind.clear(p.config)
	}
	if reason := k.kind.set(p.config, values); reason != "" {
		s.bad = true
		p.fault(where, written, k.shown(values), reason)
	}
}

// setting notes that a line says something about k.
func (p *parser) setting(k *key, where string, words []string) *setting {
	s := p.settings[k]
	if s == nil {
		s = &setting{}
		p.settings[k] = s
	}
	s.where, s.words, s.fromArgs = where, words, p.fromArgs
	return s
}

// include reads another file in place of its line.
func (p *parser) include(where, written string, values []string) {
	if len(values) != 1 {
		p.fault(where, written, "", "expected the path of one file")
		return
	}
	name := values[0]
	shown := quoteAlways(name)
	switch {
	case slices.Contains(p.open, path.Clean(name)):
		p.fault(where, written, shown, "the file includes itself")
		return
	case p.files == filesMax:
		p.fault(where, written, shown, fmt.Sprintf("expected at most %d files", filesMax))
		return
	}
	data, reason := p.load(name)
	if reason != "" {
		p.incomplete = true
		p.fault(where, written, shown, reason)
		return
	}
	p.lines(name, string(data))
}

// finish does what needs all lines.
func (p *parser) finish() {
	p.readSecrets()
	p.refuseUnavailable()
	p.crossCheck()
}

// readSecrets fills each secret whose -file key names a file. One line end
// after the secret is not part of it.
func (p *parser) readSecrets() {
	for i := range keys {
		k := &keys[i]
		fileKey := lookup(k.name + "-file")
		if !k.secret || fileKey == nil {
			continue
		}
		name := fileKey.kind.value(p.config)
		s := p.settings[fileKey]
		if name == "" || s.bad {
			continue
		}
		if k.kind.value(p.config) != "" {
			p.reject(fileKey, "expected "+k.name+" or "+fileKey.name+", not both")
			continue
		}
		data, reason := p.load(name)
		secret := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
		if reason == "" && secret == "" {
			reason = "expected a file that holds the secret, this one is empty"
		}
		if reason != "" {
			p.reject(fileKey, reason)
			continue
		}
		k.kind.set(p.config, []string{secret})
	}
}

// reject reports a fault of k's value after all lines were read: at its last
// line, or at the configuration as a whole when no line sets it.
func (p *parser) reject(k *key, reason string) {
	s := p.settings[k]
	if s == nil {
		p.fault(p.place, k.name, "", reason)
		return
	}
	name := k.name
	if s.where == commandLine {
		name = "--" + name
	}
	s.bad = true
	p.fault(s.where, name, k.shown(s.words), reason)
}
