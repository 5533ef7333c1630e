package conf

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// FuzzParse reads text as the conf file, as an included one and as the secret
// of a -file key; lines of args are arguments. Nothing may panic; an error has
// its parts; what is accepted is printed and read back to an equal Config.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"mithril.conf", "baremetal.conf", "bench-sixnode.conf"} {
		text, err := os.ReadFile(confDir + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "")
	}
	var everyKey strings.Builder
	for i := range keys {
		everyKey.WriteString(keys[i].name + " 1\n")
	}
	f.Add(everyKey.String(), "--bootstrap\na:1\n--check")
	f.Add("include x\nuser a 'b\\'c' \"\\x00\"\nshard s a:1 b:2\n", "--user\na b\n\n--shard\n\n--port\n1")
	f.Add("sentinel a:1\nsentinel-master m n\nsentinel-shard n m\nsentinel-replicas m b:1\nrequirepass-file p\n", "")
	f.Add("bootstrap a:1\nworker-cpus 7,0-6\nclient-output-buffer-limit pubsub 1m 1k 1\naddress-map a=b c:1=d:2\n", "")
	f.Add("bootstrap a:1\nextra-commands \"m.get -2 readonly,fast 1 -1 2 request_policy:multi_shard\"\n", "--extra-commands\nm.x 1 - 0 0 0")
	allAvailable(f)
	f.Fuzz(func(t *testing.T, text, argLines string) {
		args := append([]string{"mithril.conf"}, strings.Split(argLines, "\n")...)
		if argLines == "" {
			args = args[:1]
		}
		read := func(string) ([]byte, error) { return []byte(text), nil }
		c, err := Parse(args, testCPUs, read)
		if err != nil {
			for _, fault := range err.(Errors) {
				if fault.Where == "" || fault.Reason == "" || strings.ContainsAny(fault.Error(), "\n\x00") {
					t.Errorf("fault %#v", fault)
				}
			}
			return
		}
		if c.Action >= ActionVersion {
			return
		}
		printed := asFile(c)
		readPrinted := func(path string) ([]byte, error) {
			if path == "printed" {
				return []byte(printed), nil
			}
			return read(path)
		}
		again, err := Parse([]string{"printed"}, testCPUs, readPrinted)
		if err != nil {
			t.Fatalf("printed as\n%s\nwhich is refused: %v", printed, err)
		}
		again.ConfFile, again.Action = c.ConfFile, c.Action
		if !reflect.DeepEqual(c, again) {
			t.Fatalf("%+v\nis printed as\n%s\nand read back as\n%+v", c, printed, again)
		}
	})
}
