package sys

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mithril/src/buf"
)

// childEnv makes this test binary run one of the children below instead of tests.
const childEnv = "MITHRIL_SYS_TEST_CHILD"

// runChild is the child's main; it returns the exit status.
func runChild(child string) int {
	if refused, found := strings.CutPrefix(child, "watch:"); found {
		errno, err := strconv.Atoi(refused)
		if err != nil {
			panic(err)
		}
		watchChild(unix.Errno(errno))
		return 0
	}
	refused, found := strings.CutPrefix(child, "refuse:")
	if found {
		errno, err := strconv.Atoi(refused)
		if err != nil {
			panic(err)
		}
		if err := refuseUring(unix.Errno(errno)); err != nil {
			fmt.Println("filter:", err)
			return 1
		}
	}
	_, err := ProbeUring()
	fmt.Println("probe:", err)
	for _, engine := range []string{EngineAuto, EngineUring, EngineEpoll} {
		kind, why, err := Choose(engine)
		fmt.Printf("%s: %s|%s|%v\n", engine, kind, why, err)
	}
	arena, err := buf.NewArena(make(buf.HeapMemory, 1<<20), 4)
	if err != nil {
		panic(err)
	}
	_, err = NewEpoll(arena, Options{})
	fmt.Println("new epoll:", err)
	_, err = NewUring(arena, make(buf.HeapMemory, 1<<20), Options{})
	fmt.Println("new io_uring:", err)
	return 0
}

// refuseUring makes io_uring_setup fail with errno from now on, in all threads, as
// the seccomp profile of a container does.
func refuseUring(errno unix.Errno) error {
	return installFilter([]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_IO_URING_SETUP, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	})
}

// spawn runs a child and returns its lines by what is in front of their colon.
func spawn(t *testing.T, child string, env ...string) map[string]string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childEnv+"="+child), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %s\n%s", child, err, out)
	}
	lines := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		lines[name] = rest
	}
	return lines
}

// A refusal of io_uring is reported with cause and remedy, makes auto take epoll
// with that as the reason, and stops a start that asks for io_uring.
func TestRefusedUringFallsBack(t *testing.T) {
	cases := []struct {
		errno unix.Errno
		want  []string
	}{
		{unix.EPERM, []string{"seccomp filter", "remedy: allow io_uring_setup", "io-engine epoll"}},
		{unix.ENOSYS, []string{"seccomp filter hides it", "remedy: allow io_uring_setup"}},
		{unix.ENOMEM, []string{"locked memory", "remedy: raise it (ulimit -l"}},
		{unix.EMFILE, []string{"remedy: raise the limit (ulimit -n"}},
		{unix.EINVAL, []string{"SETUP_DEFER_TASKRUN", "this is Linux " + kernelRelease(), "6.1 or later", "remedy: a newer kernel"}},
	}
	for _, c := range cases {
		t.Run(c.errno.Error(), func(t *testing.T) {
			lines := spawn(t, "refuse:"+strconv.Itoa(int(c.errno)))
			for _, name := range []string{"probe", EngineAuto, EngineUring, "new io_uring"} {
				for _, want := range append(c.want, c.errno.Error()) {
					if !strings.Contains(lines[name], want) {
						t.Errorf("%s lacks %q: %s", name, want, lines[name])
					}
				}
			}
			if got := lines[EngineAuto]; !strings.HasPrefix(got, "epoll|io_uring_setup: ") || !strings.HasSuffix(got, "|<nil>") {
				t.Errorf("auto: %s", got)
			}
			if got := lines[EngineUring]; !strings.HasPrefix(got, "||sys: io_uring_setup: ") {
				t.Errorf("io_uring: %s", got)
			}
			if got := lines[EngineEpoll]; got != "epoll|configured|<nil>" {
				t.Errorf("epoll: %s", got)
			}
			if got := lines["new epoll"]; got != "<nil>" {
				t.Errorf("new epoll: %s", got)
			}
		})
	}
}

func TestUringIsChosenWhereItWorks(t *testing.T) {
	lines := spawn(t, "plain")
	if got := lines["probe"]; got != "<nil>" {
		t.Errorf("probe: %s", got)
	}
	if got, want := lines[EngineAuto], "io_uring|every operation it needs works on Linux "+kernelRelease(); !strings.HasPrefix(got, want) {
		t.Errorf("auto: %s", got)
	}
	if got, want := lines[EngineUring], "io_uring|configured; every operation"; !strings.HasPrefix(got, want) {
		t.Errorf("io_uring: %s", got)
	}
}

// Without preemption by signal nothing may start: it would hang.
func TestAsyncPreemptOffIsRefused(t *testing.T) {
	for _, godebug := range []string{"asyncpreemptoff=1", "madvdontneed=1,asyncpreemptoff=1"} {
		lines := spawn(t, "plain", "GODEBUG="+godebug)
		for _, name := range []string{EngineAuto, EngineUring, EngineEpoll, "new epoll", "new io_uring"} {
			if !strings.Contains(lines[name], "GODEBUG=asyncpreemptoff=1 would make the process hang at its first garbage collection; unset it") {
				t.Errorf("GODEBUG=%s: %s: %s", godebug, name, lines[name])
			}
		}
	}
	lines := spawn(t, "plain", "GODEBUG=asyncpreemptoff=0")
	if got := lines["new epoll"]; got != "<nil>" {
		t.Errorf("GODEBUG=asyncpreemptoff=0: %s", got)
	}
}

func TestUnknownEngine(t *testing.T) {
	_, _, err := Choose("kqueue")
	if err == nil || err.Error() != `sys: io-engine is "kqueue", can be auto, io_uring or epoll` {
		t.Errorf("error %v", err)
	}
}

// The sysctl is the whole machine's, so its file stands in for it.
func TestSysctlIsNamed(t *testing.T) {
	file := t.TempDir() + "/io_uring_disabled"
	if err := os.WriteFile(file, []byte("2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer func(path string) { uringDisabledPath = path }(uringDisabledPath)
	uringDisabledPath = file
	want := "io_uring_setup: operation not permitted: the sysctl kernel.io_uring_disabled is 2; remedy: sysctl -w kernel.io_uring_disabled=0, or set io-engine epoll"
	if got := (&setupError{errno: unix.EPERM}).Error(); got != want {
		t.Errorf("error %q\nwant  %q", got, want)
	}
}

func TestMissingFeaturesAreNamed(t *testing.T) {
	if got := missingFeatures(^uint32(0)); got != "" {
		t.Errorf("with every feature: %q", got)
	}
	have := ^uint32(featSubmitStable | featExtArg)
	if got, want := missingFeatures(have), "FEAT_SUBMIT_STABLE, FEAT_EXT_ARG"; got != want {
		t.Errorf("missing %q, want %q", got, want)
	}
}
