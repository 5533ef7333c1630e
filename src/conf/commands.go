package conf

import (
	"strings"

	"mithril/src/command"
)

// extraCommands are commands described as COMMAND does, one a line. All words of a line may also be one, in quotes.
type extraCommands struct{ named }

func newExtraCommands(at func(*Config) *[]Named) kind {
	return extraCommands{named{at, anyWords, command.ExtraForm}}
}

func (k extraCommands) set(c *Config, words []string) string {
	words = strings.Fields(strings.Join(words, " "))
	if len(words) == 0 {
		return k.named.set(c, []string{""})
	}
	if _, err := command.ParseExtra(words); err != nil {
		return err.Error()
	}
	words[0] = strings.ToLower(words[0])
	return k.named.set(c, words)
}
